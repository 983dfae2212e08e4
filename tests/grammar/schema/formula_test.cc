#include "grammar/schema/formula.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

class FormulaTest : public testing::Test {
 protected:
  FormulaId Atom(int32_t subject) {
    return store_.Of({.kind = AtomKind::kSchema, .subject = subject});
  }
  FormulaId One(const std::vector<FormulaId>& parts) { return store_.ExactlyOne(parts); }

  FormulaStore store_;
  const FormulaId yes_ = FormulaId::kTrue;
  const FormulaId no_ = FormulaId::kFalse;
  const FormulaId a_ = Atom(1);
  const FormulaId b_ = Atom(2);
  const FormulaId c_ = Atom(3);
};

TEST_F(FormulaTest, WhatIsTheSameIsOne) {
  EXPECT_EQ(Atom(1), a_);
  EXPECT_NE(store_.Of({.kind = AtomKind::kEquals, .subject = 1}), a_);
  EXPECT_NE(store_.Of({.kind = AtomKind::kSchema, .subject = 1, .count = 1}), a_);
  EXPECT_EQ(store_.And(a_, b_), store_.And(b_, a_));
  EXPECT_EQ(store_.And(a_, store_.And(b_, c_)), store_.And(store_.And(a_, b_), c_));
  EXPECT_NE(store_.And(a_, b_), store_.Or(a_, b_));
}

TEST_F(FormulaTest, Constants) {
  EXPECT_EQ(store_.And(std::vector<FormulaId>{}), yes_);
  EXPECT_EQ(store_.Or(std::vector<FormulaId>{}), no_);
  EXPECT_EQ(One({}), no_);
  EXPECT_EQ(store_.And(a_, yes_), a_);
  EXPECT_EQ(store_.And(a_, no_), no_);
  EXPECT_EQ(store_.Or(a_, no_), a_);
  EXPECT_EQ(store_.Or(a_, yes_), yes_);
  EXPECT_EQ(store_.Not(yes_), no_);
  EXPECT_EQ(store_.Not(store_.Not(a_)), a_);
}

TEST_F(FormulaTest, Contradictions) {
  EXPECT_EQ(store_.And(a_, store_.Not(a_)), no_);
  EXPECT_EQ(store_.Or(a_, store_.Not(a_)), yes_);
  EXPECT_EQ(store_.And(a_, a_), a_);
}

TEST_F(FormulaTest, ExactlyOne) {
  EXPECT_EQ(One({a_}), a_);
  EXPECT_EQ(One({a_, no_}), a_);
  EXPECT_EQ(One({a_, yes_}), store_.Not(a_));
  EXPECT_EQ(One({yes_, yes_, a_}), no_);
  EXPECT_EQ(One({a_, a_}), no_);
  EXPECT_EQ(One({a_, a_, b_}), store_.And(b_, store_.Not(a_)));
  EXPECT_EQ(One({a_, b_}), One({b_, a_}));
}

TEST_F(FormulaTest, Replace) {
  const FormulaId formula = store_.And(store_.Or(a_, store_.Not(b_)), One({b_, c_}));
  const auto with = [&](FormulaId a, FormulaId b, FormulaId c) {
    return store_.Replace(formula, [&](FormulaId id, const weft::Atom&) {
      return id == a_ ? a : id == b_ ? b : c;
    });
  };
  EXPECT_EQ(with(a_, b_, c_), formula);
  EXPECT_EQ(with(yes_, yes_, no_), yes_);
  EXPECT_EQ(with(no_, yes_, no_), no_);
  EXPECT_EQ(with(yes_, yes_, yes_), no_);
  EXPECT_EQ(with(a_, no_, c_), c_);
  EXPECT_EQ(with(a_, yes_, c_), store_.And(a_, store_.Not(c_)));
}

TEST_F(FormulaTest, ReplacementsMayReplace) {
  const FormulaId inner = store_.And(b_, c_);
  const FormulaId made = store_.Replace(store_.Or(a_, b_), [&](FormulaId id, const weft::Atom&) {
    if (id == a_) return store_.Replace(inner, [&](FormulaId, const weft::Atom&) { return yes_; });
    return id;
  });
  EXPECT_EQ(made, yes_);
}

TEST_F(FormulaTest, Occurrences) {
  const FormulaId formula =
      store_.And(std::vector<FormulaId>{a_, store_.Not(store_.And(b_, store_.Not(c_)))});
  const auto signs = [&](FormulaId of, FormulaId atom) -> std::pair<bool, bool> {
    for (const FormulaStore::Occurrence& each : store_.Occurrences(of)) {
      if (each.atom == atom) return {each.positive, each.negative};
    }
    return {false, false};
  };
  EXPECT_EQ(store_.Occurrences(formula).size(), 3);
  EXPECT_EQ(signs(formula, a_), std::pair(true, false));
  EXPECT_EQ(signs(formula, b_), std::pair(false, true));
  EXPECT_EQ(signs(formula, c_), std::pair(true, false));
  EXPECT_EQ(signs(One({a_, b_}), a_), std::pair(true, true));
  EXPECT_TRUE(store_.Occurrences(yes_).empty());
}

TEST_F(FormulaTest, LimitsStayReached) {
  for (const FormulaLimits& limits : {FormulaLimits{.steps = 10}, FormulaLimits{.parts = 10}}) {
    FormulaStore store(limits);
    std::vector<FormulaId> atoms;
    for (int32_t i = 0; i < 4; ++i) atoms.push_back(store.Of({.subject = i}));
    const FormulaId all = store.And(atoms);
    EXPECT_NE(all, no_);
    EXPECT_TRUE(store.status());
    for (int i = 0; i < 9; ++i) store.Or(atoms[i % 4], store.Not(atoms[i / 3]));
    EXPECT_EQ(store.status().error().code, ErrorCode::kResourceExhausted);
    EXPECT_EQ(store.Or(atoms[0], atoms[1]), no_);
    EXPECT_TRUE(store.Occurrences(all).empty());
  }
}

}  // namespace
}  // namespace weft
