// Random grammars against all words and beginnings of words up to a length, which are found by
// growing the sets of every expression until nothing is added.
#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grammar/cfg/earley_recognizer.h"
#include "grammar/cfg/grammar_builder.h"
#include "grammar/regex/text_recognizer.h"
#include "tests/grammar/cfg/grammar_fixtures.h"

namespace weft {
namespace {

constexpr size_t kLongest = 6;

using Words = std::set<std::string>;

Words Joined(const Words& a, const Words& b) {
  Words joined;
  for (const std::string& left : a) {
    for (const std::string& right : b) {
      if (left.size() + right.size() <= kLongest) joined.insert(left + right);
    }
  }
  return joined;
}

void AddTo(Words* words, const Words& more) { words->insert(more.begin(), more.end()); }

struct Expression {
  enum class Kind : uint8_t { kLiteral, kOpaque, kSequence, kChoice, kRepeat, kRule };

  Kind kind = Kind::kLiteral;
  std::string text;
  std::vector<size_t> children;  // kRule: none
  int32_t min = 0;
  std::optional<int32_t> max;
  size_t rule = 0;

  Words words;       // at most kLongest bytes long
  Words beginnings;  // of words however long; none: no word
};

struct RandomGrammar {
  std::vector<Expression> expressions;
  std::vector<size_t> rules;  // their bodies; the first is the start

  explicit RandomGrammar(uint32_t seed) : random_(seed) {
    rules.resize(1 + Below(4));
    for (size_t& body : rules) body = Add(3);
    FindWords();
  }

  Result<Grammar> Build(const GrammarLimits& limits) const {
    GrammarBuilder builder(limits);
    std::vector<GrammarExpr> rule_exprs;
    std::vector<GrammarExpr> exprs;
    for (size_t i = 0; i < rules.size(); ++i) {
      rule_exprs.push_back(builder.Rule("rule" + std::to_string(i)));
    }
    for (const Expression& expression : expressions) {
      std::vector<GrammarExpr> children;
      for (const size_t child : expression.children) children.push_back(exprs[child]);
      exprs.push_back(BuildOne(builder, expression, children, rule_exprs));
    }
    for (size_t i = 0; i < rules.size(); ++i) builder.Define(rule_exprs[i], exprs[rules[i]]);
    return builder.Build(rule_exprs[0]);
  }

  const Expression& start() const { return expressions[rules[0]]; }

 private:
  uint32_t Below(uint32_t count) { return random_() % count; }

  static GrammarExpr BuildOne(GrammarBuilder& builder, const Expression& expression,
                              const std::vector<GrammarExpr>& children,
                              const std::vector<GrammarExpr>& rule_exprs) {
    switch (expression.kind) {
      case Expression::Kind::kLiteral:
        return builder.Literal(expression.text);
      case Expression::Kind::kOpaque:
        return builder.Terminal([text = expression.text] {
          RegexArena arena;
          const RegexId id = arena.Literal(text);
          return std::make_unique<TextRecognizer>(std::move(arena), id);
        });
      case Expression::Kind::kSequence:
        return builder.Sequence(children);
      case Expression::Kind::kChoice:
        return builder.Choice(children);
      case Expression::Kind::kRepeat:
        return builder.Repeat(children[0], expression.min, expression.max);
      case Expression::Kind::kRule:
        break;
    }
    return rule_exprs[expression.rule];
  }

  size_t Add(int depth) {
    Expression expression;
    const uint32_t kind = depth == 0 ? Below(6) : Below(14);
    if (kind < 3) {
      constexpr const char* kTexts[] = {"", "a", "b", "ab", "ba", "aa", "b", "a"};
      expression.kind = kind == 0 ? Expression::Kind::kOpaque : Expression::Kind::kLiteral;
      expression.text = kTexts[Below(8)];
    } else if (kind < 6) {
      expression.kind = Expression::Kind::kRule;
      expression.rule = Below(static_cast<uint32_t>(rules.size()));
    } else if (kind < 12) {
      expression.kind = kind < 9 ? Expression::Kind::kSequence : Expression::Kind::kChoice;
      const uint32_t count = Below(8) == 0 ? 0 : 1 + Below(3);
      for (uint32_t i = 0; i < count; ++i) expression.children.push_back(Add(depth - 1));
    } else {
      expression.kind = Expression::Kind::kRepeat;
      expression.children.push_back(Add(depth - 1));
      expression.min = static_cast<int32_t>(Below(4));
      if (Below(2) == 0) expression.max = expression.min + static_cast<int32_t>(Below(5));
    }
    expressions.push_back(expression);
    return expressions.size() - 1;
  }

  void FindWords() {
    for (bool grows = true; grows;) {
      grows = false;
      for (Expression& expression : expressions) {
        const size_t before = expression.words.size() + expression.beginnings.size();
        Grow(&expression);
        grows = grows || expression.words.size() + expression.beginnings.size() != before;
      }
    }
  }

  void Grow(Expression* expression) {
    switch (expression->kind) {
      case Expression::Kind::kLiteral:
      case Expression::Kind::kOpaque:
        expression->words = {expression->text};
        for (size_t i = 0; i <= expression->text.size(); ++i) {
          expression->beginnings.insert(expression->text.substr(0, i));
        }
        break;
      case Expression::Kind::kSequence:
        GrowSequence(expression, expression->children);
        break;
      case Expression::Kind::kChoice:
        for (const size_t child : expression->children) {
          AddTo(&expression->words, expressions[child].words);
          AddTo(&expression->beginnings, expressions[child].beginnings);
        }
        break;
      case Expression::Kind::kRepeat: {
        // More often than so many times none can be but with words that are empty.
        const int32_t most = expression->min + static_cast<int32_t>(kLongest) + 1;
        const int32_t max = std::min(expression->max.value_or(most), most);
        for (int32_t i = expression->min; i <= max; ++i) {
          GrowSequence(expression, std::vector<size_t>(i, expression->children[0]));
        }
        break;
      }
      case Expression::Kind::kRule:
        expression->words = expressions[rules[expression->rule]].words;
        expression->beginnings = expressions[rules[expression->rule]].beginnings;
        break;
    }
  }

  void GrowSequence(Expression* expression, const std::vector<size_t>& parts) {
    const auto has_words = [&](size_t part) { return !expressions[part].beginnings.empty(); };
    if (!std::ranges::all_of(parts, has_words)) return;
    Words so_far = {""};
    expression->beginnings.insert("");
    for (const size_t part : parts) {
      AddTo(&expression->beginnings, Joined(so_far, expressions[part].beginnings));
      so_far = Joined(so_far, expressions[part].words);
    }
    AddTo(&expression->words, so_far);
  }

  std::mt19937 random_;
};

// All texts of a and b, from state to state.
void Compare(const RandomGrammar& expected, EarleyRecognizer& recognizer, Recognizer::State state,
             std::string* text) {
  const bool is_word = expected.start().words.contains(*text);
  const bool begins = expected.start().beginnings.contains(*text);
  ASSERT_EQ(state != Recognizer::kDead, begins) << *text;
  if (!begins) return;
  ASSERT_EQ(recognizer.Accepts(state), is_word) << *text;
  if (text->size() == kLongest) return;
  for (const char byte : {'a', 'b'}) {
    text->push_back(byte);
    Compare(expected, recognizer, recognizer.Step(state, static_cast<uint8_t>(byte)), text);
    text->pop_back();
  }
}

void CompareAll(const GrammarLimits& limits) {
  int with_words = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomGrammar expected(seed);
    const Result<Grammar> grammar = expected.Build(limits);
    ASSERT_EQ(grammar.has_value(), !expected.start().beginnings.empty());
    if (!grammar) continue;
    ++with_words;
    EarleyRecognizer recognizer(std::make_shared<const Grammar>(*grammar));
    std::string text;
    Compare(expected, recognizer, recognizer.Start(), &text);
    ASSERT_TRUE(recognizer.status().has_value());
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(with_words, 1500);
}

TEST(RandomGrammar, AcceptsItsWordsAndTheirBeginnings) { CompareAll({}); }

TEST(RandomGrammar, IsTheSameWithoutRegularParts) { CompareAll({.max_fused_expressions = 1}); }

}  // namespace
}  // namespace weft
