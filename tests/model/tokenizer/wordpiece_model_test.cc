#include "model/tokenizer/wordpiece_model.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

std::vector<TokenId> Encode(const WordPieceModel& model, std::string_view word) {
  PieceScratch scratch;
  scratch.cache.Reset(100);
  std::vector<TokenId> ids;
  model.Encode(word, &scratch, &ids);
  std::vector<TokenId> again;
  model.Encode(word, &scratch, &again);  // by the cache, if the word is short
  EXPECT_EQ(again, ids);
  return ids;
}

const std::vector<ByteTrie::Entry> kBeginnings = {{"un", 1}, {"u", 2}, {"a", 3}, {"é", 4}};
const std::vector<ByteTrie::Entry> kContinuations = {{"a", 5}, {"aff", 6}, {"able", 7}, {"é", 8}};
constexpr TokenId kUnknown = 9;

TEST(WordPieceModelTest, TheLongestPieceIsTakenAgainAndAgain) {
  const WordPieceModel model(kBeginnings, kContinuations, {.unknown = kUnknown});
  EXPECT_EQ(Encode(model, "unaffable"), (std::vector<TokenId>{1, 6, 7}));
  EXPECT_EQ(Encode(model, "aaaé"), (std::vector<TokenId>{3, 5, 5, 8}));
  EXPECT_EQ(Encode(model, "é"), std::vector<TokenId>{4});
  EXPECT_EQ(Encode(model, ""), std::vector<TokenId>{});
}

TEST(WordPieceModelTest, AWordThatCannotBeSpelledIsUnknownAsAWhole) {
  const WordPieceModel model(kBeginnings, kContinuations, {.unknown = kUnknown});
  EXPECT_EQ(Encode(model, "unaffx"), std::vector<TokenId>{kUnknown});
  EXPECT_EQ(Encode(model, "able"), std::vector<TokenId>{kUnknown});  // only continues words
  EXPECT_EQ(Encode(model, "unun"), std::vector<TokenId>{kUnknown});  // only begins them
  // Greedy: "aff" is taken, and nothing goes on with "f".
  EXPECT_EQ(Encode(model, "unafff"), std::vector<TokenId>{kUnknown});
  EXPECT_EQ(Encode(WordPieceModel(kBeginnings, kContinuations, {}), "x"), std::vector<TokenId>{});
}

TEST(WordPieceModelTest, ALongWordIsUnknown) {
  const WordPieceModel model(kBeginnings, kContinuations,
                             {.unknown = kUnknown, .max_characters = 4});
  EXPECT_EQ(Encode(model, "éééé"), (std::vector<TokenId>{4, 8, 8, 8}));  // 4 characters, 8 bytes
  EXPECT_EQ(Encode(model, "aaaaa"), std::vector<TokenId>{kUnknown});
  const WordPieceModel usual(kBeginnings, kContinuations, {.unknown = kUnknown});
  EXPECT_EQ(Encode(usual, std::string(100, 'a')).size(), 100u);
  EXPECT_EQ(Encode(usual, std::string(101, 'a')), std::vector<TokenId>{kUnknown});
}

}  // namespace
}  // namespace weft
