// JSON Schemas, and texts under them: whatever the schema is, what the machine takes is a value
// that the schema allows, read off its nodes, and there are no dead ends. The first line is the
// schema; each of the others is a text, and says besides which of the bytes that may come do.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "grammar/schema/json_schema.h"
#include "tests/grammar/schema/naive_validator.h"
#include "tests/grammar/schema/strict_json.h"

namespace weft {
namespace {

using State = Recognizer::State;

constexpr SchemaReadOptions kOptions = {.max_depth = 32, .max_values = 2000, .max_nodes = 1000};
constexpr size_t kMostTextBytes = 200;
constexpr int kMostReferences = 16;  // it looks at what they lead to as often as there are ways

bool HasManyReferences(std::string_view schema) {
  int count = 0;
  for (size_t at = schema.find("ef\""); at != std::string_view::npos;
       at = schema.find("ef\"", at + 1)) {
    ++count;
  }
  return count > kMostReferences;
}

std::vector<uint8_t> BytesBehind(JsonMachine& machine, State state) {
  std::vector<uint8_t> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    const auto next = static_cast<uint8_t>(byte);
    if (machine.Step(state, next) != Recognizer::kDead) bytes.push_back(next);
  }
  return bytes;
}

void Check(JsonMachine& machine, State state, const std::string& text, NaiveValidator& oracle) {
  if (!machine.Accepts(state) || HasLongNumber(text)) return;
  const std::optional<nlohmann::ordered_json> value = ParseStrictly(text);
  if (!value || !oracle.Accepts(*value)) std::abort();
}

void WalkAlong(JsonMachine& machine, std::string_view text, NaiveValidator& oracle) {
  State state = machine.Start();
  for (const char byte : text) {
    if (state == Recognizer::kDead) return;
    state = machine.Step(state, static_cast<uint8_t>(byte));
  }
  if (state != Recognizer::kDead) Check(machine, state, std::string(text), oracle);
}

void WalkAsChosen(JsonMachine& machine, std::string_view choices, NaiveValidator& oracle) {
  State state = machine.Start();
  std::string text;
  for (const char choice : choices) {
    const std::vector<uint8_t> bytes = BytesBehind(machine, state);
    if (!machine.status()) return;  // beyond a limit
    if (bytes.empty()) {
      if (!machine.Accepts(state)) std::abort();
      return;
    }
    const uint8_t next = bytes[static_cast<uint8_t>(choice) % bytes.size()];
    text.push_back(static_cast<char>(next));
    state = machine.Step(state, next);
    Check(machine, state, text, oracle);
  }
}

void Run(std::string_view schema_text, std::string_view lines) {
  if (HasLongNumber(schema_text) || HasManyReferences(schema_text)) return;
  const auto schema = nlohmann::ordered_json::parse(schema_text, nullptr, false);
  if (schema.is_discarded()) return;
  const auto compiled = JsonSchema::Compile(schema, kOptions);
  if (!compiled) {
    if (compiled.error().message.empty()) std::abort();
    return;
  }
  const auto document = ReadSchema(schema, kOptions);
  NaiveValidator oracle(*document);
  const auto free = compiled->NewMachine({.space = JsonSpace::kAny, .any_order = true});
  const auto ordered = compiled->NewMachine({.space = JsonSpace::kNone});
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.size() > kMostTextBytes) continue;
    WalkAlong(*free, line, oracle);
    WalkAsChosen(*ordered, line, oracle);
  }
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view input(reinterpret_cast<const char*>(data), size_bytes);
  const std::string_view schema = input.substr(0, input.find('\n'));
  weft::Run(schema, input.substr(std::min(schema.size() + 1, input.size())));
  return 0;
}
