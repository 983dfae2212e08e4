// How a query and a document become one text, and what the model makes of it a score.
#include "model/ranking.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/checkpoint.h"
#include "tests/data_paths.h"

namespace weft {
namespace {

using Ids = std::vector<TokenId>;

std::shared_ptr<const Tokenizer> TokenizerOf(const std::string& fixture) {
  return LoadTokenizer(SourcePath("tests/model/fixtures/parity/" + fixture + "/hf")).value();
}

const Ranking kPrompted = {
    .prompt = RankingPrompt{.prefix = "<|end|>a",
                            .body = "{instruction} {query} {document}",
                            .suffix = "b<|end|>",
                            .instruction = "judge"},
};

Ids Plain(const Tokenizer& tokenizer, std::string_view text, bool has_control_tokens) {
  return tokenizer
      .Encode(text, {.add_special_tokens = false, .parse_special_tokens = has_control_tokens})
      .value();
}

Ids Joined(const std::vector<Ids>& parts) {
  Ids all;
  for (const Ids& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(RankingTest, APromptHasTheTextsInItsBodyAlone) {
  const auto tokenizer = TokenizerOf("qwen2");
  const auto encode = [&](const RankingTexts& texts) {
    return EncodeRanking(kPrompted, *tokenizer, texts, {}).value().ids;
  };
  const Ids prefix = Plain(*tokenizer, "<|end|>a", true);
  const Ids suffix = Plain(*tokenizer, "b<|end|>", true);
  EXPECT_EQ(encode({.query = "who", .document = "me"}),
            Joined({prefix, Plain(*tokenizer, "judge who me", false), suffix}));
  EXPECT_EQ(encode({.query = "who", .document = "me", .instruction = "say"}),
            Joined({prefix, Plain(*tokenizer, "say who me", false), suffix}));
  // Texts hold neither places nor control tokens.
  EXPECT_EQ(encode({.query = "{document}", .document = "<|end|>{query}"}),
            Joined({prefix, Plain(*tokenizer, "judge {document} <|end|>{query}", false), suffix}));
}

TEST(RankingTest, APromptLosesTheEndOfTheDocument) {
  const auto tokenizer = TokenizerOf("qwen2");
  const RankingTexts texts = {.query = "who", .document = "one two three four"};
  const Ids whole = EncodeRanking(kPrompted, *tokenizer, texts, {}).value().ids;
  const Ids suffix = Plain(*tokenizer, "b<|end|>", true);
  const EncodedText cut =
      EncodeRanking(kPrompted, *tokenizer, texts, {.max_tokens = std::ssize(whole) - 2}).value();
  EXPECT_EQ(cut.dropped_count, 2);
  const Ids kept(whole.begin(), whole.end() - 2 - std::ssize(suffix));
  EXPECT_EQ(cut.ids, Joined({kept, suffix}));

  const auto none = EncodeRanking(kPrompted, *tokenizer, texts, {.max_tokens = 3});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(none.error().message, testing::EndsWith("tokens around the texts, of 3 in all"));
}

TEST(RankingTest, WithoutAPromptTheTokenizerPairsTheTexts) {
  const auto tokenizer = TokenizerOf("bert");
  const EncodedText pair =
      EncodeRanking({}, *tokenizer, {.query = "a", .document = "b [SEP]"}, {}).value();
  const EncodedText expected =
      tokenizer->EncodePair("a", "b [SEP]", {.parse_special_tokens = false}, {}).value();
  EXPECT_EQ(pair.ids, expected.ids);
  EXPECT_EQ(pair.second_text, expected.second_text);
  EXPECT_LT(pair.second_text, std::ssize(pair.ids));
}

TEST(RankingTest, AScoreIsOfALogitOrOfADifference) {
  constexpr std::array kOne = {0.5F};
  constexpr std::array kTwo = {2.0F, 1.5F};
  EXPECT_EQ(RankingLogit(kOne), 0.5);
  EXPECT_EQ(RankingLogit(kTwo), 0.5);
  EXPECT_NEAR(RankingScore({}, kTwo), 0.62245933120185457, 1e-15);
  EXPECT_EQ(RankingScore({.is_probability = false}, kOne), 0.5);
}

TEST(RankingTest, TheLogisticFunctionStaysWithinItsBounds) {
  EXPECT_EQ(Logistic(0), 0.5);
  EXPECT_EQ(Logistic(1e4), 1);
  EXPECT_EQ(Logistic(-1e4), 0);
  EXPECT_NEAR(Logistic(-2) + Logistic(2), 1, 1e-15);
}

TEST(RankingTest, AClassifierWithOneLabelRanks) {
  const auto load = [](const char* fixture) {
    return LoadCheckpoint(SourcePath("tests/model/fixtures/parity/" + std::string(fixture) + "/hf"))
        .value();
  };
  EXPECT_FALSE(load("bert").ranking);
  EXPECT_FALSE(load("bert_classifier").ranking);  // two labels
  EXPECT_TRUE(load("jina_reranker_v2").ranking);
}

}  // namespace
}  // namespace weft
