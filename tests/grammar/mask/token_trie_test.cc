#include "grammar/mask/token_trie.h"

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grammar/mask/mask_maker.h"

namespace weft {
namespace {

// The texts that a list has, byte by byte; a state is how much of one of them has come.
class ListRecognizer : public Recognizer {
 public:
  explicit ListRecognizer(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  State Start() override { return Find(""); }
  State Step(State state, uint8_t byte) override {
    ++step_count;
    return Find(begun_[static_cast<size_t>(state)] + static_cast<char>(byte));
  }
  bool Accepts(State state) override {
    return std::ranges::count(texts_, begun_[static_cast<size_t>(state)]) > 0;
  }
  State After(const std::string& text) {
    State state = Start();
    for (const char byte : text) state = Step(state, static_cast<uint8_t>(byte));
    return state;
  }

  int step_count = 0;

 private:
  State Find(const std::string& begun) {
    if (std::ranges::none_of(texts_, [&](const auto& text) { return text.starts_with(begun); }))
      return kDead;
    const auto found = std::ranges::find(begun_, begun);
    if (found == begun_.end()) begun_.push_back(begun);
    return static_cast<State>(std::ranges::find(begun_, begun) - begun_.begin());
  }

  std::vector<std::string> texts_;
  std::vector<std::string> begun_;
};

std::set<size_t> MaskOf(std::span<const std::string> texts, Recognizer& recognizer,
                        Recognizer::State state) {
  const MaskVocabulary vocabulary(texts);
  std::vector<uint32_t> mask(vocabulary.mask_words());
  MaskMaker(&vocabulary, &recognizer).Fill(state, mask);
  std::set<size_t> tokens;
  for (size_t token = 0; token < mask.size() * 32; ++token) {
    if ((mask[token / 32] >> (token % 32) & 1U) != 0) tokens.insert(token);
  }
  return tokens;
}

TEST(TokenTrie, AllowsTokensWhoseBytesMayCome) {
  const std::string special = SpecialTokenBytes(300);
  const std::string other = SpecialTokenBytes(301);
  const std::vector<std::string> texts = {"",     "a",     "ab",  "b", "ab",   "abc",      "\xC3",
                                          "\xA4", special, other, "",  "abcd", "\xC3\xA4x"};
  EXPECT_EQ(TokenTrie(texts).token_count(), texts.size() - 2);
  ListRecognizer recognizer({"abc", "b\xC3\xA4", "ab" + special});
  const auto mask_after = [&](const std::string& text) {
    return MaskOf(texts, recognizer, recognizer.After(text));
  };
  EXPECT_EQ(mask_after(""), (std::set<size_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(mask_after("a"), (std::set<size_t>{3}));
  EXPECT_EQ(mask_after("ab"), (std::set<size_t>{8}));
  EXPECT_EQ(mask_after("b"), (std::set<size_t>{6}));
  EXPECT_EQ(mask_after("b\xC3"), (std::set<size_t>{7}));
  EXPECT_EQ(mask_after("abc"), std::set<size_t>());
}

TEST(TokenTrie, SpecialTokensAreSpelledInSevenBits) {
  EXPECT_EQ(SpecialTokenBytes(0), std::string("\xFF\0\0\0", 4));
  EXPECT_EQ(SpecialTokenBytes(1 + 2 * 128 + 3 * 128 * 128), "\xFF\x03\x02\x01");
  EXPECT_EQ(SpecialTokenBytes((1U << 21) - 1), "\xFF\x7F\x7F\x7F");
}

TEST(TokenTrie, OfNoTokensNothingMayCome) {
  const std::vector<std::string> texts = {"", ""};
  ListRecognizer recognizer({"a"});
  EXPECT_EQ(MaskOf(texts, recognizer, recognizer.Start()), std::set<size_t>());
}

TEST(TokenTrie, TextsBeyondTheLongestAreLeftOut) {
  const std::string longest(65'535, 'a');
  const TokenTrie trie(std::vector<std::string>{longest, longest + "a"});
  EXPECT_EQ(trie.token_count(), 1U);
}

TEST(TokenTrie, SharesWhatTextsBeginWith) {
  const std::vector<std::string> texts = {"aaaa", "aaab", "aaac", "b"};
  ListRecognizer recognizer({"aaab"});
  const Recognizer::State start = recognizer.Start();
  recognizer.step_count = 0;
  EXPECT_EQ(MaskOf(texts, recognizer, start), (std::set<size_t>{1}));
  EXPECT_EQ(recognizer.step_count, 3 + 3 + 1);
}

// Against asking for every token, for vocabularies of random texts.
TEST(TokenTrie, AgreesWithAskingForEveryToken) {
  std::mt19937 random(1);
  const auto random_text = [&](size_t most) {
    std::string text;
    for (size_t size = random() % (most + 1); size > 0; --size)
      text += static_cast<char>("ab\xC3\xFF"[random() % 4]);
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts(1 + random() % 60);
    for (std::string& text : texts) text = random_text(5);
    std::vector<std::string> language(1 + random() % 5);
    for (std::string& text : language) text = random_text(9);
    ListRecognizer recognizer(language);
    const std::string begun = language[0].substr(0, random() % (language[0].size() + 1));
    std::set<size_t> expected;
    for (size_t token = 0; token < texts.size(); ++token) {
      const bool may_come = std::ranges::any_of(language, [&](const std::string& text) {
        return text.starts_with(begun + texts[token]);
      });
      if (may_come && !texts[token].empty()) expected.insert(token);
    }
    ASSERT_EQ(MaskOf(texts, recognizer, recognizer.After(begun)), expected);
  }
}

TEST(TokenTrie, OfALargeVocabularyIsSmall) {
  std::mt19937 random(1);
  std::vector<std::string> texts(131'072);
  for (std::string& text : texts) {
    for (size_t size = 1 + random() % 12; size > 0; --size)
      text += static_cast<char>('a' + random() % 26);
  }
  EXPECT_LT(TokenTrie(texts).bytes(), 10U << 20);
}

}  // namespace
}  // namespace weft
