// Masks of a small vocabulary under a schema: they are what its tokens come to byte by byte. The
// first line is the schema, the second says which of the tokens that may come do, and the others
// are tokens.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "grammar/mask/mask_maker.h"
#include "grammar/schema/json_schema.h"

namespace {

using weft::Recognizer;

constexpr weft::SchemaReadOptions kOptions = {
    .max_depth = 32, .max_values = 2000, .max_nodes = 1000};
constexpr size_t kMostTokens = 100;
constexpr size_t kMostSteps = 100;

Recognizer::State Behind(Recognizer& recognizer, Recognizer::State state, std::string_view token) {
  for (const char byte : token) {
    if (state == Recognizer::kDead) break;
    state = recognizer.Step(state, static_cast<uint8_t>(byte));
  }
  return state;
}

std::string_view TakeLine(std::string_view& lines) {
  const std::string_view line = lines.substr(0, lines.find('\n'));
  lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  return line;
}

void Walk(const weft::JsonSchema& schema, const weft::MaskVocabulary& vocabulary,
          const std::vector<std::string>& tokens, std::string_view choices, bool any_order) {
  const auto machine = schema.NewMachine({.any_order = any_order});
  const auto plain = schema.NewMachine({.any_order = any_order});
  weft::MaskMaker maker(&vocabulary, machine.get());
  Recognizer::State state = machine->Start();
  Recognizer::State plain_state = plain->Start();
  for (const char choice : choices) {
    std::vector<uint32_t> mask(vocabulary.mask_words());
    maker.Fill(state, mask);
    std::vector<size_t> may_come;
    std::vector<uint32_t> expected(mask.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (Behind(*plain, plain_state, tokens[i]) == Recognizer::kDead) continue;
      expected[i / 32] |= 1U << (i % 32);
      may_come.push_back(i);
    }
    if (!machine->status() || !plain->status()) return;  // beyond a limit
    if (mask != expected) std::abort();
    if (may_come.empty()) return;
    const std::string& next = tokens[may_come[static_cast<uint8_t>(choice) % may_come.size()]];
    state = Behind(*machine, state, next);
    plain_state = Behind(*plain, plain_state, next);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  std::string_view input(reinterpret_cast<const char*>(data), size_bytes);
  const auto json = nlohmann::ordered_json::parse(TakeLine(input), nullptr, false);
  if (json.is_discarded()) return 0;
  const auto schema = weft::JsonSchema::Compile(json, kOptions);
  if (!schema) return 0;
  const std::string_view choices = TakeLine(input).substr(0, kMostSteps);
  std::vector<std::string> tokens = {"\"", "{", "}", "[", "]", ":", ",", " "};
  for (char letter = 'a'; letter <= 'z'; ++letter) tokens.emplace_back(1, letter);
  for (char digit = '0'; digit <= '9'; ++digit) tokens.emplace_back(1, digit);
  while (!input.empty() && tokens.size() < kMostTokens) {
    const std::string_view token = TakeLine(input);
    if (!token.empty()) tokens.emplace_back(token);
  }
  const weft::MaskVocabulary vocabulary(tokens);
  for (const bool any_order : {false, true}) {
    Walk(*schema, vocabulary, tokens, choices, any_order);
  }
  return 0;
}
