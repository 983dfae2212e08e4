// A template and, after a NUL byte, the variables as JSON: whatever comes, a text or an error of
// one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "model/tokenizer/chat_template.h"

namespace {

nlohmann::ordered_json DefaultVariables() {
  return nlohmann::ordered_json::parse(R"({"messages": [{"role": "user", "content": "Hé {{ x }}"},
    {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "add_generation_prompt": true, "bos_token": "<s>", "nums": [3, 1.5, -2, null, true]})");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view input(reinterpret_cast<const char*>(data), size_bytes);
  const size_t end = std::min(input.find('\0'), input.size());
  const auto parsed = weft::ChatTemplate::Parse(input.substr(0, end));
  if (!parsed) {
    if (parsed.error().message.empty()) std::abort();
    return 0;
  }
  nlohmann::ordered_json variables =
      nlohmann::ordered_json::parse(input.substr(end < input.size() ? end + 1 : end), nullptr,
                                    /*allow_exceptions=*/false);
  if (!variables.is_object()) variables = DefaultVariables();
  weft::ChatTemplate::Options options;
  options.now = std::tm{};
  options.limits.steps = 20'000;
  options.limits.memory_bytes = 16 << 20;
  options.limits.output_bytes = 4 << 20;
  const auto text = parsed->Render(variables, options);
  if (text ? weft::ValidUtf8Prefix(*text) != text->size()
           : text.error().code == weft::ErrorCode::kCorrupt) {
    std::abort();
  }
  return 0;
}
