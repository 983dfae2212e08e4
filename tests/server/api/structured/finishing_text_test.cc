// Texts that must finish, drawn at random in every number of tokens that is just enough.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/constrained_text.h"
#include "grammar/schema/json_schema.h"
#include "server/api/structured/grammar_matcher.h"
#include "tests/grammar/schema/random_schemas.h"
#include "tests/server/api/structured/list_tokenizer.h"
#include "tests/server/api/structured/random_text.h"

namespace weft {
namespace {

class FinishingTextTest : public ::testing::Test {
 protected:
  // Bytes, and pieces that go over the ends of JSON's parts.
  FinishingTextTest() {
    std::vector<ListTokenizer::Entry> entries;
    for (int byte = 0; byte < 255; ++byte)
      entries.push_back({std::string(1, static_cast<char>(byte)), false});
    for (const char* text : {"\":", "\", \"", "{\"", "[{\"", "\"}", "}]", "[[", "abc", "\"a\"",
                             "},", "12", "0.5", "true", "null", "\":[", "\":{\"", "\\u00", "xyz"})
      entries.push_back({text, false});
    entries.push_back({"<end>", true});
    tokenizer_ = std::make_shared<const ListTokenizer>(std::move(entries));
    end_ = static_cast<TokenId>(tokenizer_->vocab_size()) - 1;
    vocabulary_ = std::make_shared<const GrammarVocabulary>(tokenizer_);
  }

  // nullopt: it did not come to its end.
  std::optional<std::string> Draw(std::shared_ptr<const TokenConstraint> constraint,
                                  int32_t max_tokens) {
    ConstrainedText text(
        std::make_shared<const TextRules>(TextRules{.constraint = std::move(constraint),
                                                    .ends = {end_},
                                                    .vocab_size = tokenizer_->vocab_size(),
                                                    .finishes = true}));
    std::string drawn;
    for (int32_t left = max_tokens; left > 0; --left) {
      text.BeginFill();
      text.Fill();
      if (text.error()) ADD_FAILURE() << text.error()->message;
      if (text.error()) return std::nullopt;
      if (text.is_complete()) return drawn;
      const std::optional<TokenId> token = text.Settle(Any(text.rule().mask), left);
      if (!token || *token == end_) return drawn;
      EXPECT_TRUE(IsInMask(text.rule().mask, *token));
      drawn += tokenizer_->TokenBytes(*token);
      text.Append(*token);
    }
    return std::nullopt;
  }

  TokenId Any(std::span<const uint32_t> mask) {
    std::vector<TokenId> allowed;
    for (TokenId token = 0; token <= end_; ++token) {
      if (IsInMask(mask, token)) allowed.push_back(token);
    }
    return allowed[random_() % allowed.size()];
  }

  std::shared_ptr<const ListTokenizer> tokenizer_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  TokenId end_ = 0;
  std::mt19937 random_{7};
};

TEST_F(FinishingTextTest, OfRandomSchemas) {
  int32_t texts = 0;
  int32_t cut = 0;  // would have been longer
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    RandomSchemas random(seed);
    const auto document = random.Document();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + document.dump());
    const SchemaResult<JsonSchema> schema = JsonSchema::Compile(document);
    if (!schema) continue;
    const JsonMachineOptions options = {.space = static_cast<JsonSpace>(seed % 3),
                                        .any_order = seed % 2 == 0};
    const auto constraint = std::make_shared<GrammarConstraint>(
        vocabulary_, [&] { return schema->NewMachine(options); },
        std::make_shared<MatcherPool>(size_t{16} << 20));
    ASSERT_TRUE(constraint->Prepare(true));
    const std::vector<TokenId> ends = {end_};
    const auto least = static_cast<int32_t>(constraint->CountLeastTokens(ends).value()) + 1;
    for (int32_t max_tokens = least; max_tokens < least + 12; ++max_tokens) {
      const std::optional<std::string> text = Draw(constraint, max_tokens);
      ASSERT_TRUE(text) << max_tokens << " tokens, of which " << least << " are needed";
      const auto machine = schema->NewMachine(options);
      ASSERT_TRUE(AcceptsText(*machine, *text)) << *text;
      ++texts;
      cut += text->size() > 4 ? 1 : 0;
    }
  }
  EXPECT_GT(texts, 1000);
  EXPECT_GT(cut, texts / 4);
}

}  // namespace
}  // namespace weft
