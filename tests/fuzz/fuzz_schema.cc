// JSON Schemas, and texts under them: whatever the schema is, what the machine takes is a value
// that the schema allows, read off its nodes. The first line is the schema, the others are texts.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "grammar/schema/json_schema.h"
#include "tests/grammar/schema/naive_validator.h"

namespace weft {
namespace {

// Doubles, which the oracle reckons with, are exact only of short numbers.
bool HasLongNumber(std::string_view text) {
  size_t digits = 0;
  for (const char byte : text) {
    digits = byte >= '0' && byte <= '9' ? digits + 1 : byte == '.' ? digits : 0;
    if (digits > 6 || byte == 'e' || byte == 'E') return true;
  }
  return false;
}

void Run(std::string_view schema_text, std::string_view texts) {
  const auto schema = nlohmann::ordered_json::parse(schema_text, nullptr, false);
  if (schema.is_discarded()) return;
  const SchemaReadOptions options = {.max_depth = 32, .max_values = 2000, .max_nodes = 1000};
  const auto compiled = JsonSchema::Compile(schema, options);
  if (!compiled) return;
  const auto document = ReadSchema(schema, options);
  if (!document) std::abort();
  NaiveValidator oracle(*document);
  const bool is_exact = !HasLongNumber(schema_text);
  while (!texts.empty()) {
    const std::string_view text = texts.substr(0, texts.find('\n'));
    texts.remove_prefix(std::min(text.size() + 1, texts.size()));
    const auto machine = compiled->NewMachine({.space = JsonSpace::kAny, .any_order = true});
    Recognizer::State state = machine->Start();
    for (const char byte : text) {
      if (state != Recognizer::kDead) state = machine->Step(state, static_cast<uint8_t>(byte));
    }
    if (state == Recognizer::kDead || !machine->Accepts(state)) continue;
    if (!is_exact || HasLongNumber(text)) continue;
    const auto value = nlohmann::ordered_json::parse(text, nullptr, false);
    if (value.is_discarded() || !oracle.Accepts(value)) std::abort();
  }
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view schema = input.substr(0, input.find('\n'));
  weft::Run(schema, input.substr(std::min(schema.size() + 1, input.size())));
  return 0;
}
