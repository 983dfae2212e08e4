// What tests of grammars share.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/result.h"
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

struct ExpectedText {
  std::string text;
  TextIs is = TextIs::kWrong;
};

inline void ExpectTextsOf(const Result<Grammar>& grammar, const std::vector<ExpectedText>& texts) {
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
  for (const ExpectedText& expected : texts) {
    EXPECT_EQ(Read(*grammar, expected.text), expected.is) << expected.text;
  }
}

}  // namespace weft
