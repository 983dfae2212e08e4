#include "grammar/avoiding_recognizer.h"

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "grammar/regex/text_recognizer.h"

namespace weft {
namespace {

using Words = std::vector<std::string_view>;

std::unique_ptr<Recognizer> AnyTextBut(const Words& words) {
  RegexArena arena;
  const RegexId any = arena.AnyText();
  return std::make_unique<AvoidingRecognizer>(
      std::make_unique<TextRecognizer>(std::move(arena), any), words);
}

bool Accepts(Recognizer& recognizer, std::string_view text) {
  Recognizer::State state = recognizer.Start();
  for (size_t i = 0; i < text.size() && state != Recognizer::kDead; ++i)
    state = recognizer.Step(state, static_cast<uint8_t>(text[i]));
  return state != Recognizer::kDead && recognizer.Accepts(state);
}

// Words that are inside others, that begin as others end, and texts of their letters.
TEST(AvoidingRecognizerTest, AcceptsWhatHasNoneOfTheWords) {
  const std::vector<Words> cases = {
      {"ab"},        {"aab", "b"},    {"abab", "bb"}, {"abcab", "bca"},
      {"aaa", "ca"}, {"abc", "abca"}, {"", "cc"},     {}};
  std::mt19937 random(5);
  for (const Words& words : cases) {
    const std::unique_ptr<Recognizer> recognizer = AnyTextBut(words);
    for (int i = 0; i < 2000; ++i) {
      std::string text;
      for (uint32_t left = random() % 9; left > 0; --left)
        text += static_cast<char>('a' + random() % 3);
      bool has_word = false;
      for (const std::string_view word : words)
        has_word |= !word.empty() && text.find(word) != std::string::npos;
      EXPECT_EQ(Accepts(*recognizer, text), !has_word) << text;
    }
  }
}

TEST(AvoidingRecognizerTest, IsWithinTheOtherLanguage) {
  RegexArena arena;
  const RegexId words = arena.Words(std::vector<std::string>{"ab", "ac"});
  AvoidingRecognizer recognizer(std::make_unique<TextRecognizer>(std::move(arena), words),
                                Words{"ac", "x"});
  EXPECT_TRUE(Accepts(recognizer, "ab"));
  EXPECT_FALSE(Accepts(recognizer, "ac"));
  EXPECT_FALSE(Accepts(recognizer, "a"));
  EXPECT_FALSE(Accepts(recognizer, "b"));
}

}  // namespace
}  // namespace weft
