#include "server/api/structured/grammar_matcher.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/server/api/structured/list_tokenizer.h"

namespace weft {
namespace {

// Pairs of "ab", at most three of them, and then perhaps the special token 4.
class PairRecognizer : public Recognizer {
 public:
  PairRecognizer() : longest_("ababab" + SpecialTokenBytes(4)) {}
  State Start() override { return 0; }
  State Step(State state, uint8_t byte) override {
    const auto place = static_cast<size_t>(state);
    if (place < longest_.size() && byte == static_cast<uint8_t>(longest_[place])) return state + 1;
    const bool may_end = state < 6 && state % 2 == 0;
    return may_end && byte == 0xFF ? 7 : kDead;
  }
  bool Accepts(State state) override {
    return (state <= 6 && state % 2 == 0) || static_cast<size_t>(state) == longest_.size();
  }

 private:
  const std::string longest_;
};

class GrammarMatcherTest : public ::testing::Test {
 protected:
  static constexpr TokenId kA = 0;
  static constexpr TokenId kB = 1;
  static constexpr TokenId kPair = 2;
  static constexpr TokenId kTwoPairs = 3;
  static constexpr TokenId kSpecial = 4;
  static constexpr TokenId kOtherSpecial = 5;
  static constexpr TokenId kForged = 6;
  static constexpr TokenId kEmpty = 7;

  GrammarMatcherTest()
      : vocabulary_(std::make_shared<const GrammarVocabulary>(std::make_shared<const ListTokenizer>(
            std::vector<ListTokenizer::Entry>{{"a", false},
                                              {"b", false},
                                              {"ab", false},
                                              {"abab", false},
                                              {"<call>", true},
                                              {"<end>", true},
                                              {"\xFF", false},
                                              {"", false}}))),
        constraint_(
            vocabulary_, [] { return std::make_unique<PairRecognizer>(); },
            std::make_shared<MatcherPool>(kPoolBytes)),
        matcher_(constraint_.NewMatcher()) {}

  std::set<TokenId> MaskOf(TokenMatcher& matcher) const {
    std::vector<uint32_t> mask(TokenMaskWords(kCount), 0);
    EXPECT_TRUE(matcher.FillMask(mask));
    std::set<TokenId> tokens;
    for (TokenId token = 0; token < 32; ++token) {
      if (IsInMask(mask, token)) tokens.insert(token);
    }
    for (TokenId token = 0; token < kCount; ++token)
      EXPECT_EQ(matcher.Allows(token), IsInMask(mask, token)) << token;
    return tokens;
  }
  void Accept(TokenId token) { ASSERT_TRUE(matcher_->Accept(token)); }

  static constexpr TokenId kCount = 8;
  static constexpr size_t kPoolBytes = 1 << 20;

  MatcherPool pool_{kPoolBytes};
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  GrammarConstraint constraint_;
  std::unique_ptr<TokenMatcher> matcher_;
};

TEST_F(GrammarMatcherTest, AllowsWhatTheGrammarDoes) {
  EXPECT_EQ(MaskOf(*matcher_), (std::set<TokenId>{kA, kPair, kTwoPairs, kSpecial}));
  EXPECT_TRUE(matcher_->MayEnd());
  Accept(kA);
  EXPECT_EQ(MaskOf(*matcher_), (std::set<TokenId>{kB}));
  EXPECT_FALSE(matcher_->MayEnd());
  Accept(kB);
  Accept(kPair);
  EXPECT_EQ(MaskOf(*matcher_), (std::set<TokenId>{kA, kPair, kSpecial}));
  Accept(kPair);
  EXPECT_EQ(MaskOf(*matcher_), (std::set<TokenId>{kSpecial}));
  Accept(kSpecial);
  EXPECT_EQ(MaskOf(*matcher_), std::set<TokenId>());
  EXPECT_TRUE(matcher_->MayEnd());
}

TEST_F(GrammarMatcherTest, SpecialTokensCannotBeForged) {
  EXPECT_EQ(vocabulary_->BytesOf(kForged), "");
  EXPECT_EQ(vocabulary_->BytesOf(kSpecial), SpecialTokenBytes(4));
  EXPECT_EQ(vocabulary_->BytesOf(100), "");  // of a model with more tokens than the tokenizer
  EXPECT_FALSE(matcher_->Allows(kForged));
}

TEST_F(GrammarMatcherTest, WhatIsNotAllowedIsAnErrorAndChangesNothing) {
  EXPECT_FALSE(matcher_->Accept(kB));
  EXPECT_FALSE(matcher_->Accept(kEmpty));
  EXPECT_EQ(MaskOf(*matcher_), (std::set<TokenId>{kA, kPair, kTwoPairs, kSpecial}));
}

TEST_F(GrammarMatcherTest, TakesTokensBack) {
  GrammarMatcher matcher(vocabulary_,
                         std::make_shared<SharedRecognizer>(&pool_, vocabulary_->masks(),
                                                            std::make_unique<PairRecognizer>()));
  std::vector<std::set<TokenId>> masks = {MaskOf(matcher)};
  const std::vector<TokenId> tokens = {kTwoPairs, kA, kB, kSpecial};
  for (const TokenId token : tokens) {
    ASSERT_TRUE(matcher.Accept(token));
    masks.push_back(MaskOf(matcher));
  }
  for (size_t count = 0; count <= tokens.size(); ++count) {
    matcher.Rollback(count);
    EXPECT_EQ(MaskOf(matcher), masks[tokens.size() - count]);
    EXPECT_EQ(matcher.MayEnd(), count != 2) << count;
    for (size_t i = tokens.size() - count; i < tokens.size(); ++i)
      ASSERT_TRUE(matcher.Accept(tokens[i]));
  }
}

TEST_F(GrammarMatcherTest, ClonesGoTheirOwnWays) {
  Accept(kPair);
  const std::unique_ptr<TokenMatcher> clone = matcher_->Clone();
  Accept(kA);
  EXPECT_EQ(MaskOf(*clone), (std::set<TokenId>{kA, kPair, kTwoPairs, kSpecial}));
  ASSERT_TRUE(clone->Accept(kTwoPairs));
  EXPECT_EQ(MaskOf(*clone), (std::set<TokenId>{kSpecial}));
  EXPECT_EQ(MaskOf(*matcher_), (std::set<TokenId>{kB}));
}

TEST_F(GrammarMatcherTest, ManyStatesAreAsGoodAsFew) {
  // More of them than masks are kept.
  class Counter : public Recognizer {
   public:
    State Start() override { return 0; }
    State Step(State state, uint8_t byte) override {
      return byte == (state % 3 == 0 ? 'b' : 'a') ? state + 1 : kDead;
    }
    bool Accepts(State) override { return true; }
  };
  GrammarMatcher matcher(vocabulary_,
                         std::make_shared<SharedRecognizer>(&pool_, vocabulary_->masks(),
                                                            std::make_unique<Counter>()));
  for (int round = 0; round < 2; ++round) {
    for (int count = 0; count < 50; ++count) {
      const bool wants_b = count % 3 == 0;
      const std::set<TokenId> mask = MaskOf(matcher);
      EXPECT_EQ(mask.contains(kB), wants_b);
      EXPECT_EQ(mask.contains(kA), !wants_b);
      ASSERT_TRUE(matcher.Accept(wants_b ? kB : kA));
    }
    matcher.Rollback(50);
  }
}

TEST_F(GrammarMatcherTest, TheNextTextBeginsWithWhatTheLastHasFoundOut) {
  int made_count = 0;
  const auto pool = std::make_shared<MatcherPool>(kPoolBytes);
  const auto make = [&] {
    ++made_count;
    return std::make_unique<PairRecognizer>();
  };
  auto constraint = std::make_unique<GrammarConstraint>(vocabulary_, make, pool);
  EXPECT_TRUE(constraint->Prepare());
  std::unique_ptr<TokenMatcher> first = constraint->NewMatcher();
  EXPECT_EQ(made_count, 1);
  std::unique_ptr<TokenMatcher> second = constraint->NewMatcher();
  EXPECT_EQ(made_count, 2);
  ASSERT_TRUE(first->Accept(kA));
  const std::unique_ptr<TokenMatcher> clone = first->Clone();
  first.reset();
  second.reset();
  const std::unique_ptr<TokenMatcher> third = constraint->NewMatcher();
  EXPECT_EQ(made_count, 2);
  EXPECT_EQ(MaskOf(*third), (std::set<TokenId>{kA, kPair, kTwoPairs, kSpecial}));
  EXPECT_EQ(MaskOf(*clone), (std::set<TokenId>{kB}));  // holds the first one's
  const std::unique_ptr<TokenMatcher> fourth = constraint->NewMatcher();
  EXPECT_EQ(made_count, 3);
}

// Has found out so much, and at each step as much again.
class Hoarder : public Recognizer {
 public:
  explicit Hoarder(size_t bytes) : step_bytes_(bytes), bytes_(bytes) {}
  State Start() override { return 0; }
  State Step(State state, uint8_t) override {
    bytes_ += step_bytes_;
    return state + 1;
  }
  bool Accepts(State) override { return true; }
  size_t bytes() const override { return bytes_; }

 private:
  const size_t step_bytes_;
  size_t bytes_;
};

TEST_F(GrammarMatcherTest, WhatIsIdleGivesWay) {
  const auto shared = [this](size_t bytes) {
    auto made = std::make_unique<SharedRecognizer>(&pool_, vocabulary_->masks(),
                                                   std::make_unique<Hoarder>(bytes));
    EXPECT_TRUE(made->CountMemory());
    return made;
  };
  constexpr size_t kQuarter = kPoolBytes / 4;
  const int owners[5] = {};
  for (int i = 0; i < 4; ++i) pool_.Give(&owners[i], shared(kQuarter));
  EXPECT_EQ(pool_.held_bytes(), kPoolBytes);
  pool_.Give(&owners[4], shared(kQuarter));
  EXPECT_EQ(pool_.held_bytes(), kPoolBytes);
  EXPECT_EQ(pool_.Take(&owners[0]), nullptr);  // the oldest had to go
  std::unique_ptr<SharedRecognizer> taken[] = {pool_.Take(&owners[1]), pool_.Take(&owners[2]),
                                               pool_.Take(&owners[3]), pool_.Take(&owners[4])};
  for (const auto& each : taken) EXPECT_NE(each, nullptr);
  EXPECT_EQ(pool_.Take(&owners[1]), nullptr);
  // Those that are used do not.
  SharedRecognizer more(&pool_, vocabulary_->masks(), std::make_unique<Hoarder>(1));
  const Result<void> counted = more.CountMemory();
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code, ErrorCode::kUnavailable);
  taken[0].reset();
  EXPECT_TRUE(more.CountMemory());
  EXPECT_EQ(pool_.held_bytes(), 3 * kQuarter + 1);
  pool_.Give(&owners[1], std::move(taken[1]));
  pool_.Drop(&owners[1]);
  EXPECT_EQ(pool_.held_bytes(), 2 * kQuarter + 1);
}

TEST_F(GrammarMatcherTest, ARequestTakesAQuarterAtMost) {
  const auto pool = std::make_shared<MatcherPool>(kPoolBytes);
  const GrammarConstraint constraint(
      vocabulary_, [] { return std::make_unique<Hoarder>(kPoolBytes / 16); }, pool);
  // What an earlier text has left does not count against the next one.
  for (int text = 0; text < 3; ++text) {
    const std::unique_ptr<TokenMatcher> matcher = constraint.NewMatcher();
    for (int step = 0; step < 3; ++step) EXPECT_TRUE(matcher->Accept(kA)) << text;
    const Result<void> accepted = matcher->Accept(kA);
    ASSERT_FALSE(accepted) << text;
    EXPECT_EQ(accepted.error().code, ErrorCode::kResourceExhausted);
  }
}

TEST_F(GrammarMatcherTest, KnowsAWayOutFromWhereverItIs) {
  const auto make = [] { return std::make_unique<PairRecognizer>(); };
  GrammarConstraint constraint(vocabulary_, make, std::make_shared<MatcherPool>(kPoolBytes));
  ASSERT_TRUE(constraint.Prepare(true));
  EXPECT_EQ(constraint.CountLeastTokens({}), 0U);
  const std::unique_ptr<TokenMatcher> matcher = constraint.NewMatcher();
  ASSERT_TRUE(matcher->FindWayOut({}));
  const auto way = [](const TokenMatcher& of) {
    return std::vector<TokenId>(of.way_out().begin(), of.way_out().end());
  };
  EXPECT_EQ(way(*matcher), std::vector<TokenId>());
  EXPECT_TRUE(matcher->LeadsOut(kPair, 0));
  EXPECT_FALSE(matcher->LeadsOut(kA, 0));
  EXPECT_TRUE(matcher->LeadsOut(kA, 1));
  const std::unique_ptr<TokenMatcher> clone = matcher->Clone();  // of another choice
  ASSERT_TRUE(matcher->Accept(kA));
  EXPECT_EQ(way(*matcher), (std::vector<TokenId>{kB}));
  EXPECT_TRUE(matcher->LeadsOut(kB, 0));
  ASSERT_TRUE(matcher->Accept(kB));
  EXPECT_EQ(way(*matcher), std::vector<TokenId>());
  ASSERT_TRUE(clone->Accept(kPair));
  EXPECT_EQ(way(*clone), std::vector<TokenId>());
}

TEST_F(GrammarMatcherTest, AWayOutHasNoTokenThatEndsTheText) {
  class Triple : public PairRecognizer {
   public:
    bool Accepts(State state) override { return state == 6; }
  };
  const auto make = [] { return std::make_unique<Triple>(); };
  GrammarConstraint constraint(vocabulary_, make, std::make_shared<MatcherPool>(kPoolBytes));
  ASSERT_TRUE(constraint.Prepare(true));
  EXPECT_EQ(constraint.CountLeastTokens({}), 2U);
  const std::vector<TokenId> ends = {kTwoPairs};
  EXPECT_EQ(constraint.CountLeastTokens(ends), 3U);
  EXPECT_EQ(constraint.CountLeastTokens(std::vector<TokenId>{kB, kPair, kTwoPairs}), std::nullopt);
  const std::unique_ptr<TokenMatcher> matcher = constraint.NewMatcher();
  ASSERT_TRUE(matcher->FindWayOut(ends));
  EXPECT_EQ(matcher->way_out().size(), 3U);
  EXPECT_FALSE(matcher->LeadsOut(kPair, 1));
  EXPECT_TRUE(matcher->LeadsOut(kPair, 2));
  EXPECT_FALSE(constraint.NewMatcher()->FindWayOut(std::vector<TokenId>{kB, kPair, kTwoPairs}));
}

TEST_F(GrammarMatcherTest, AnEmptyLanguageIsNoConstraint) {
  class Nothing : public Recognizer {
   public:
    State Start() override { return kDead; }
    State Step(State, uint8_t) override { return kDead; }
    bool Accepts(State) override { return false; }
  };
  GrammarConstraint constraint(
      vocabulary_, [] { return std::make_unique<Nothing>(); },
      std::make_shared<MatcherPool>(kPoolBytes));
  EXPECT_FALSE(constraint.Prepare());
}

TEST_F(GrammarMatcherTest, WhatItBeginsWithIsWithinTheLimits) {
  class Limited : public PairRecognizer {
   public:
    State Step(State state, uint8_t byte) override {
      has_stepped_ = true;
      return PairRecognizer::Step(state, byte);
    }
    Result<void> status() const override {
      if (has_stepped_) return Fail(ErrorCode::kResourceExhausted, "too much");
      return {};
    }

   private:
    bool has_stepped_ = false;
  };
  GrammarConstraint constraint(
      vocabulary_, [] { return std::make_unique<Limited>(); },
      std::make_shared<MatcherPool>(kPoolBytes));
  const Result<void> prepared = constraint.Prepare();
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().message, "too much");
}

}  // namespace
}  // namespace weft
