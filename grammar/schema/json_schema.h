// JSON Schema as a language of texts.
#pragma once

#include <memory>

#include <nlohmann/json.hpp>

#include "grammar/recognizer.h"
#include "grammar/regex/regex.h"
#include "grammar/schema/json_machine.h"
#include "grammar/schema/schema_error.h"
#include "grammar/schema/schema_reader.h"

namespace weft {

// A language of texts, and the arena that its expression is one of.
struct StringLanguage {
  RegexArena regexes;
  RegexId texts = RegexId::kNothing;
};

// A schema that can be enforced, every word of it. Immutable; any thread.
class JsonSchema {
 public:
  // Errors: a keyword that is malformed, one that cannot be enforced, a schema that no value
  // satisfies or that is beyond a limit.
  static SchemaResult<JsonSchema> Compile(const nlohmann::ordered_json& schema,
                                          const SchemaReadOptions& options = {});

  std::unique_ptr<JsonMachine> NewMachine(const JsonMachineOptions& options) const;
  // The strings among its values, as what they say.
  StringLanguage Strings() const;

 private:
  explicit JsonSchema(std::shared_ptr<const SchemaLogic> logic) : logic_(std::move(logic)) {}

  std::shared_ptr<const SchemaLogic> logic_;
};

}  // namespace weft
