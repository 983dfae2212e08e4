// What a client says that the text of an answer must be, in whatever dialect. Include from .cc
// files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft {

enum class OutputKind : uint8_t {
  kText,           // anything
  kJsonObject,     // an object
  kJsonSchema,     // a value that satisfies `schema`
  kRegex,          // the whole of it matches `text`
  kChoice,         // one of `choices`
  kGrammar,        // a text of the grammar `text`: GBNF, or Lark's notation
  kStructuralTag,  // `schema` is vLLM's structural tag
};

// White space in JSON.
enum class OutputSpace : uint8_t {
  kAfterSeparators,  // a space or none behind `,` and `:`
  kNone,
  kAny,
};

struct OutputFormat {
  OutputKind kind = OutputKind::kText;
  std::string path;  // of the field that says so, as the client names it; of a schema itself
  nlohmann::ordered_json schema;
  std::string text;
  std::vector<std::string> choices;
  OutputSpace space = OutputSpace::kAfterSeparators;
  bool any_order = false;  // of properties
};

}  // namespace weft
