#include "grammar/schema/json_schema.h"

#include <utility>

#include "grammar/schema/schema_without_value.h"

namespace weft {

SchemaResult<JsonSchema> JsonSchema::Compile(const nlohmann::ordered_json& schema,
                                             const SchemaReadOptions& options) {
  SchemaResult<SchemaDocument> read = ReadSchema(schema, options);
  if (!read) return tl::unexpected(std::move(read).error());
  const auto document = std::make_shared<const SchemaDocument>(*std::move(read));
  SchemaResult<SchemaLogic> logic = SchemaLogic::Create(document);
  if (!logic) return tl::unexpected(std::move(logic).error());
  // What a text begins with is found out once for all.
  JsonMachine machine(*logic, {.any_order = true});
  const bool is_satisfiable = machine.Start() != Recognizer::kDead;
  const Result<void> status = machine.status();
  if (!status) {
    return tl::unexpected(SchemaError{status.error().code, "", "", status.error().message});
  }
  if (!is_satisfiable && machine.has_given_up()) {
    return tl::unexpected(
        SchemaError{ErrorCode::kResourceExhausted, "", "",
                    "the search for a value that satisfies it was given up, as it takes too long"});
  }
  if (!is_satisfiable) {
    return tl::unexpected(SchemaError{ErrorCode::kUnsupported,
                                      PointerWithoutValue(*document, *std::move(logic)), "",
                                      "no value was found that satisfies it"});
  }
  return JsonSchema(std::make_shared<const SchemaLogic>(*std::move(logic)));
}

std::unique_ptr<JsonMachine> JsonSchema::NewMachine(const JsonMachineOptions& options) const {
  return std::make_unique<JsonMachine>(*logic_, options);
}

StringLanguage JsonSchema::Strings() const {
  SchemaLogic logic = *logic_;
  const RegexId texts = logic.Strings(logic.root());
  return {.regexes = std::move(logic.regexes()), .texts = texts};
}

}  // namespace weft
