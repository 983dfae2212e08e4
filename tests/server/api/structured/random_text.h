// Texts of a recognizer, drawn at random.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

// The shortest way to a text from here, in bytes of `alphabet`; "\xFE", which is in none: none was
// found.
inline std::string WayOut(Recognizer& recognizer, Recognizer::State from,
                          std::string_view alphabet) {
  constexpr size_t kMostStates = 50'000;
  struct Step {
    Recognizer::State before;
    char byte;
  };
  std::unordered_map<Recognizer::State, Step> steps = {{from, {from, 0}}};
  std::vector<Recognizer::State> order = {from};
  for (size_t i = 0; i < order.size() && order.size() < kMostStates; ++i) {
    if (recognizer.Accepts(order[i])) {
      std::string way;
      for (Recognizer::State state = order[i]; state != from; state = steps.at(state).before)
        way.insert(way.begin(), steps.at(state).byte);
      return way;
    }
    for (const char byte : alphabet) {
      const Recognizer::State next = recognizer.Step(order[i], static_cast<uint8_t>(byte));
      if (next == Recognizer::kDead || !steps.emplace(next, Step{order[i], byte}).second) continue;
      order.push_back(next);
    }
  }
  return "\xFE";
}

// `begin`, then up to `most` bytes, mostly of `alphabet`, then the way out.
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
  return text + WayOut(recognizer, state, alphabet);
}

}  // namespace weft
