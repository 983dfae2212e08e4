#include "model/tokenizer/unigram_model.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

struct ScoredText {
  std::string text;
  double score;
};

// Token 0 is the unknown one.
class SmallModel {
 public:
  explicit SmallModel(const std::vector<ScoredText>& texts, UnigramOptions options = {.unknown = 0})
      : texts_(texts) {
    std::vector<Token> tokens = {{"<unk>", TokenKind::kUnknown}};
    std::vector<UnigramPiece> pieces;
    for (const ScoredText& text : texts) {
      pieces.push_back({static_cast<TokenId>(tokens.size()), text.score});
      tokens.push_back({text.text, TokenKind::kNormal});
    }
    options.unknown_score = kUnknownScore;
    const auto size = static_cast<int64_t>(tokens.size());
    model_ = std::make_unique<UnigramModel>(
        std::make_shared<Vocabulary>(std::move(tokens), size, Spelling::kSentencePiece), pieces,
        options);
  }

  std::vector<TokenId> Encode(std::string_view text) {
    std::vector<TokenId> ids;
    model_->Encode(text, &scratch, &ids);
    return ids;
  }

  // The best sum of scores of all ways to spell `text`, found by trying them.
  double BestScore(std::string_view text) const {
    if (text.empty()) return 0.0;
    double best = kUnknownScore + BestScore(text.substr(1));
    for (const ScoredText& known : texts_) {
      if (!text.starts_with(known.text)) continue;
      best = std::max(best, known.score + BestScore(text.substr(known.text.size())));
    }
    return best;
  }

  static constexpr double kUnknownScore = -1000.0;
  PieceScratch scratch;

 private:
  std::vector<ScoredText> texts_;
  std::unique_ptr<UnigramModel> model_;
};

TEST(UnigramModelTest, TheBestWayIsFoundAmongAll) {
  std::mt19937 random(5);
  const auto random_text = [&](size_t size) {
    std::string text;
    while (text.size() < size) text += static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    std::map<std::string, double> scores;
    for (int i = 0; i < 8; ++i) {
      scores[random_text(1 + random() % 4)] = -1.0 - static_cast<double>(random() % 1000);
    }
    std::vector<ScoredText> texts;
    for (const auto& [text, score] : scores) texts.push_back({text, score});
    SmallModel model(texts);
    const std::string text = random_text(12);
    double score = 0.0;
    std::string spelled;
    // An unknown token is one or more characters: what follows says how many.
    const std::vector<TokenId> ids = model.Encode(text);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != 0) {
        spelled += texts[static_cast<size_t>(ids[i] - 1)].text;
        score += texts[static_cast<size_t>(ids[i] - 1)].score;
      }
    }
    const size_t unknown_count = text.size() - spelled.size();
    score += SmallModel::kUnknownScore * static_cast<double>(unknown_count);
    EXPECT_EQ(score, model.BestScore(text)) << text;
  }
}

TEST(UnigramModelTest, OfEqualScoresTheFirstFoundWins) {
  SmallModel model({{"a", -1}, {"ab", -3}, {"b", -2}, {"c", -1}, {"bc", -3}});
  // "a" "b" and "ab" have equal sums: "ab" was offered first, from the text's beginning.
  EXPECT_EQ(model.Encode("ab"), std::vector<TokenId>{2});
  EXPECT_EQ(model.Encode("abc"), (std::vector<TokenId>{1, 5}));
}

TEST(UnigramModelTest, OfEqualSpellingsTheLastCounts) {
  SmallModel model({{"a", -1}, {"b", -1}, {"a", -5}});
  EXPECT_EQ(model.Encode("ab"), (std::vector<TokenId>{3, 2}));
}

TEST(UnigramModelTest, UnknownNeighboursAreOneToken) {
  SmallModel model({{"a", -1}, {"é", -1}});
  EXPECT_EQ(model.Encode("xyazaé中文é"), (std::vector<TokenId>{0, 1, 0, 1, 2, 0, 2}));
  EXPECT_EQ(model.Encode(""), std::vector<TokenId>{});
  SmallModel dropping({{"a", -1}}, {});
  EXPECT_EQ(dropping.Encode("xaxx"), std::vector<TokenId>{1});
}

TEST(UnigramModelTest, BytesStandForUnknownCharactersIfAllAreThere) {
  const UnigramOptions options = {.unknown = 0, .byte_fallback = true};
  SmallModel model({{"a", -1}, {"<0xC3>", -1}, {"<0xA9>", -1}}, options);
  EXPECT_EQ(model.Encode("aéa"), (std::vector<TokenId>{1, 2, 3, 1}));
  EXPECT_EQ(model.Encode("aééa"), (std::vector<TokenId>{1, 2, 3, 2, 3, 1}));
  EXPECT_EQ(model.Encode("aézéa"), (std::vector<TokenId>{1, 0, 1}));  // z has none: all or nothing
}

TEST(UnigramModelTest, SumsAreRoundedOnlyIfTheOptionsSaySo) {
  // In float32 nothing is left of 2^-30 beside 1, and the first way that was offered stays.
  const std::vector<ScoredText> texts = {{"cab", -2}, {"c", -1 + 1.0 / (1 << 30)}, {"ab", -1}};
  SmallModel exact(texts);
  EXPECT_EQ(exact.Encode("cab"), (std::vector<TokenId>{2, 3}));
  SmallModel rounded(texts, {.unknown = 0, .float32_sums = true});
  EXPECT_EQ(rounded.Encode("cab"), std::vector<TokenId>{1});
}

// Quadratic time would take hours here.
TEST(UnigramModelTest, AMegabyteWithoutACutTakesLinearTime) {
  std::vector<ScoredText> texts;
  for (size_t size = 1; size <= 64; ++size) texts.push_back({std::string(size, 'a'), -1.0});
  SmallModel model(texts);
  EXPECT_EQ(model.Encode(std::string(1 << 20, 'a')), std::vector<TokenId>((1 << 20) / 64, 64));
}

TEST(UnigramModelTest, MemoryIsThatOfTheLongestStretchWithoutACut) {
  SmallModel model({{"a", -1}, {"b", -1}, {"ab", -1}, {" a", -1}});
  std::string text;
  while (text.size() < 1 << 20) text += "abx a";
  const std::vector<TokenId> ids = model.Encode(text);
  EXPECT_EQ(std::vector<TokenId>(ids.begin(), ids.begin() + 4), (std::vector<TokenId>{3, 0, 4, 3}));
  EXPECT_LT(model.scratch.steps.capacity(), 16u);
}

TEST(UnigramModelTest, PiecesMetBeforeAreTheSame) {
  SmallModel model({{"a", -1}, {"b", -1}, {"ab", -1}});
  model.scratch.cache.Reset(100);
  EXPECT_EQ(model.Encode("abx"), (std::vector<TokenId>{3, 0}));
  EXPECT_EQ(model.Encode("abx"), (std::vector<TokenId>{3, 0}));
}

}  // namespace
}  // namespace weft
