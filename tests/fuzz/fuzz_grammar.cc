// A grammar in GBNF and in Lark's notation, and behind a byte 0 a text. Whatever comes, there is an
// error that says something, or an automaton that has no dead ends.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "grammar/cfg/earley_recognizer.h"
#include "grammar/cfg/gbnf.h"
#include "grammar/cfg/lark.h"

namespace {

using weft::Recognizer;

bool GoesOn(Recognizer& recognizer, Recognizer::State state) {
  if (recognizer.Accepts(state)) return true;
  for (int byte = 0; byte < 256; ++byte) {
    if (recognizer.Step(state, static_cast<uint8_t>(byte)) != Recognizer::kDead) return true;
  }
  return false;
}

void Walk(const weft::Result<weft::Grammar>& grammar, std::string_view text) {
  if (!grammar) {
    if (grammar.error().message.empty()) std::abort();
    return;
  }
  weft::EarleyRecognizer recognizer(std::make_shared<const weft::Grammar>(*grammar),
                                    {.max_bytes = 16U << 20U, .max_items = 2000});
  Recognizer::State state = recognizer.Start();
  for (const char byte : text) {
    if (state == Recognizer::kDead) break;
    if (!GoesOn(recognizer, state) && recognizer.status()) std::abort();
    state = recognizer.Step(state, static_cast<uint8_t>(byte));
  }
}

constexpr weft::GrammarLimits kLimits = {.max_expressions = 20'000, .max_fused_expressions = 500};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view input(reinterpret_cast<const char*>(data), size_bytes);
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(std::min(end + 1, input.size()));
  const auto some_token = [](auto) { return std::optional<int32_t>(3); };
  const weft::SpecialTokenLookup tokens = {.by_name = some_token, .by_id = some_token};
  {
    weft::GrammarBuilder builder(kLimits);
    const weft::Result<weft::GrammarExpr> root =
        weft::ReadGbnf(&builder, input.substr(0, end), tokens);
    Walk(root ? builder.Build(*root) : tl::unexpected(root.error()), text);
  }
  weft::GrammarBuilder builder(kLimits);
  const weft::Result<weft::GrammarExpr> start =
      weft::ReadLark(&builder, input.substr(0, end), {.tokens = tokens, .json = nullptr});
  Walk(start ? builder.Build(*start) : tl::unexpected(start.error()), text);
  return 0;
}
