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
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/cfg/grammar.h"
#include "grammar/cfg/grammar_nodes.h"
#include "grammar/regex/regex.h"

namespace weft {

enum class GrammarExpr : int32_t {};  // of one builder

// One thread at a time.
class GrammarBuilder {
 public:
  explicit GrammarBuilder(const GrammarLimits& limits = {}) { nodes_.limits = limits; }

  // Where to make regexes for Regex().
  RegexArena& regexes() { return *nodes_.regexes; }

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
  GrammarExpr Add(const GrammarNode& node);
  GrammarExpr AddParts(GrammarNode::Kind kind, std::span<const GrammarExpr> parts);

  GrammarNodes nodes_;
  bool is_too_large_ = false;
};

}  // namespace weft
