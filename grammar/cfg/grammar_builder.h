// Writes grammars. Expressions are made from the inside out; rules may be used before they are
// defined, and recursively.
//
//   GrammarBuilder builder;
//   const GrammarExpr call = builder.Sequence(
//       {builder.Literal("<tool_call>"), builder.Terminal(arguments),
//       builder.Literal("</tool_call>")});
//   Result<Grammar> grammar = builder.Build(builder.Repeat(call, 1, std::nullopt));
//
// The grammar means a set of texts, whatever the expressions' order and ambiguities: in a choice no
// alternative is preferred, a repetition is not greedy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/cfg/grammar.h"
#include "grammar/regex/regex.h"

namespace weft {

enum class GrammarExpr : int32_t {};  // of one builder

struct GrammarLimits {
  // Expressions of a builder, and symbols in all rules of the grammar.
  int64_t max_expressions = 1 << 20;
  // Parts of a grammar that are regular are matched as one regex, a rule that is used several times
  // in several copies, up to this many expressions together.
  int64_t max_fused_expressions = 20'000;
};

// One thread at a time.
class GrammarBuilder {
 public:
  explicit GrammarBuilder(const GrammarLimits& limits = {});

  // Where to make regexes for Regex().
  RegexArena& regexes() { return *regexes_; }

  // `text` is UTF-8.
  GrammarExpr Literal(std::string_view text);
  // One special token; see symbol_set.h.
  GrammarExpr SpecialToken(int32_t index);
  GrammarExpr Regex(RegexId regex);
  // A terminal that is no regex.
  GrammarExpr Terminal(RecognizerFactory factory);
  GrammarExpr Sequence(std::span<const GrammarExpr> parts);
  GrammarExpr Sequence(std::initializer_list<GrammarExpr> parts) {
    return Sequence(std::span(parts.begin(), parts.size()));
  }
  // One of `alternatives`; of none: no text.
  GrammarExpr Choice(std::span<const GrammarExpr> alternatives);
  GrammarExpr Choice(std::initializer_list<GrammarExpr> alternatives) {
    return Choice(std::span(alternatives.begin(), alternatives.size()));
  }
  // 0 <= min; without `max` any number.
  GrammarExpr Repeat(GrammarExpr body, int32_t min, std::optional<int32_t> max);
  GrammarExpr Optional(GrammarExpr body) { return Repeat(body, 0, 1); }

  // A rule that is yet to be defined; `name` is for messages.
  GrammarExpr Rule(std::string name);
  // Once for each rule.
  void Define(GrammarExpr rule, GrammarExpr body);

  // The builder is of no use afterwards. Errors: a rule that is not defined, a grammar that derives
  // no text, more than the limits allow, an error of the arena.
  Result<Grammar> Build(GrammarExpr start);

 private:
  friend class GrammarCompiler;

  enum class Kind : uint8_t { kRegex, kTerminal, kSequence, kChoice, kRepeat, kRule };

  struct Node {
    Kind kind = Kind::kRegex;
    // kRegex: the regex; kTerminal, kRule: index in factories_, rules_; kSequence, kChoice: where
    // the parts begin in parts_; kRepeat: the body.
    int32_t first = 0;
    int32_t count = 0;  // of parts; kRepeat: the least number
    int32_t max = 0;    // kRepeat: the greatest number, or kUnbounded
  };
  static constexpr int32_t kUnbounded = -1;

  struct RuleDefinition {
    std::string name;
    std::optional<GrammarExpr> body;
  };

  GrammarExpr Add(const Node& node);
  GrammarExpr AddParts(Kind kind, std::span<const GrammarExpr> parts);

  GrammarLimits limits_;
  std::shared_ptr<RegexArena> regexes_;
  std::vector<Node> nodes_;
  std::vector<GrammarExpr> parts_;
  std::vector<RecognizerFactory> factories_;
  std::vector<RuleDefinition> rules_;
  bool is_too_large_ = false;
};

}  // namespace weft
