// What a client says that the text of an answer must be, in whatever dialect. Include from .cc
// files only.
#pragma once

#include <cstdint>
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
  // Of the field that says so, as the client names it: "response_format.json_schema.schema", of a
  // schema itself. Empty: none does.
  std::string path;
  nlohmann::ordered_json schema;     // an object; kJsonSchema, kStructuralTag
  std::string text;                  // kRegex, kGrammar
  std::vector<std::string> choices;  // kChoice: not empty
  OutputSpace space = OutputSpace::kAfterSeparators;
  bool any_order = false;  // of properties
};

}  // namespace weft
