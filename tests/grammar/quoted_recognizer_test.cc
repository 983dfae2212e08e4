#include "grammar/quoted_recognizer.h"

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "grammar/regex/pattern.h"
#include "grammar/regex/regex.h"
#include "grammar/regex/text_recognizer.h"

namespace weft {
namespace {

std::unique_ptr<Recognizer> Quoted(std::string_view pattern) {
  RegexArena arena;
  const RegexId texts = ParsePattern(&arena, pattern, PatternDialect::kRe2).value();
  return std::make_unique<QuotedRecognizer>(std::make_unique<TextRecognizer>(arena, texts));
}

bool Accepts(Recognizer& recognizer, std::string_view text) {
  Recognizer::State state = recognizer.Start();
  for (const char c : text) {
    if (state == Recognizer::kDead) return false;
    state = recognizer.Step(state, static_cast<uint8_t>(c));
  }
  return state != Recognizer::kDead && recognizer.Accepts(state);
}

TEST(QuotedRecognizerTest, TextsStandAsInAStringOfJson) {
  const auto recognizer = Quoted("(?s).{1,3}");
  for (const std::string_view text :
       {"a", "é", R"(\")", R"(\\)", R"(\n\t\r)", R"(\u0000)", R"(\u001F\u001f)", R"(\b\f)"}) {
    EXPECT_TRUE(Accepts(*recognizer, text)) << text;
  }
  for (const std::string_view text : {"", "\"", "\\", "\n", R"(\x)", R"(\u0041)", R"(\u002)",
                                      R"(\/)", "abcd", "a\\", R"(\u001)"}) {
    EXPECT_FALSE(Accepts(*recognizer, text)) << text;
  }
}

// From every state a text can be reached.
TEST(QuotedRecognizerTest, AnEscapeBeginsOnlyWhereOneCanCome) {
  const auto letters = Quoted("[a-z]*");
  EXPECT_EQ(letters->Step(letters->Start(), '\\'), Recognizer::kDead);
  const auto quotes = Quoted("\"*");
  const Recognizer::State begun = quotes->Step(quotes->Start(), '\\');
  ASSERT_NE(begun, Recognizer::kDead);
  EXPECT_EQ(quotes->Step(begun, 'u'), Recognizer::kDead);
  const auto escapes = Quoted("\x1b*");
  Recognizer::State state = escapes->Start();
  for (const char c : std::string_view(R"(\u00)")) state = escapes->Step(state, c);
  EXPECT_EQ(escapes->Step(state, '0'), Recognizer::kDead);
  EXPECT_NE(escapes->Step(state, '1'), Recognizer::kDead);
}

}  // namespace
}  // namespace weft
