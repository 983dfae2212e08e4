// What tests of grammars share.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "grammar/cfg/earley_recognizer.h"
#include "grammar/cfg/grammar.h"
#include "grammar/recognizer.h"

namespace weft {

enum class TextIs : uint8_t { kWhole, kBegun, kWrong };

inline void PrintTo(TextIs is, std::ostream* out) {
  *out << (is == TextIs::kWhole ? "whole" : is == TextIs::kBegun ? "begun" : "wrong");
}

// Whether `text` is one of the language, begins one (whether or not it is one itself, if it is not
// the whole), or neither.
inline TextIs Read(Recognizer& recognizer, std::string_view text) {
  Recognizer::State state = recognizer.Start();
  for (const char byte : text) {
    if (state == Recognizer::kDead) break;
    state = recognizer.Step(state, static_cast<uint8_t>(byte));
  }
  if (state == Recognizer::kDead) return TextIs::kWrong;
  return recognizer.Accepts(state) ? TextIs::kWhole : TextIs::kBegun;
}

inline TextIs Read(const Grammar& grammar, std::string_view text) {
  EarleyRecognizer recognizer(std::make_shared<const Grammar>(grammar));
  return Read(recognizer, text);
}

}  // namespace weft
