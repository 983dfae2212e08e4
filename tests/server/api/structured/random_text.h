// Texts of a recognizer, drawn at random.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "grammar/mask/way_out.h"
#include "grammar/recognizer.h"

namespace weft {

// As far as the text is alive.
inline Recognizer::State Walk(Recognizer& recognizer, Recognizer::State state,
                              std::string_view text) {
  for (size_t i = 0; i < text.size() && state != Recognizer::kDead; ++i)
    state = recognizer.Step(state, static_cast<uint8_t>(text[i]));
  return state;
}

inline bool AcceptsText(Recognizer& recognizer, std::string_view text) {
  const Recognizer::State state = Walk(recognizer, recognizer.Start(), text);
  return state != Recognizer::kDead && recognizer.Accepts(state);
}

// `begin`, then up to `most` bytes, mostly of `alphabet`, then the way out; "\xFE", which is in no
// text, if none was found.
inline std::string RandomText(Recognizer& recognizer, std::string_view begin, size_t most,
                              std::string_view alphabet, std::mt19937& random) {
  std::string text(begin);
  Recognizer::State state = Walk(recognizer, recognizer.Start(), text);
  if (state == Recognizer::kDead) return "\xFE";
  const size_t count = std::uniform_int_distribution<size_t>(0, most)(random);
  for (size_t i = 0; i < count; ++i) {
    std::string choices;
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if (recognizer.Step(state, static_cast<uint8_t>(byte)) == Recognizer::kDead) continue;
      choices += c;
      if (alphabet.find(c) != std::string_view::npos) choices.append(8, c);
    }
    if (choices.empty()) break;
    const char byte = choices[std::uniform_int_distribution<size_t>(0, choices.size() - 1)(random)];
    text += byte;
    state = recognizer.Step(state, static_cast<uint8_t>(byte));
  }
  constexpr WayOutLimits kLimits = {.states = 20'000, .width = 256};  // as before the first token
  const std::optional<WayOut> way =
      FindWayOut(recognizer, state, {}, kLimits, [](const WayOut&) { return true; });
  return text + (way ? way->bytes : "\xFE");
}

}  // namespace weft
