#include "grammar/cfg/grammar_builder.h"

#include <utility>

#include "base/check.h"
#include "grammar/cfg/grammar_compiler.h"

namespace weft {

using Kind = GrammarNode::Kind;

// Beyond the limit nothing grows any more, and Build fails.
GrammarExpr GrammarBuilder::Add(const GrammarNode& node) {
  if (static_cast<int64_t>(nodes_.nodes.size() + nodes_.parts.size()) >=
      nodes_.limits.max_expressions) {
    is_too_large_ = true;
    if (!nodes_.nodes.empty()) return GrammarExpr{0};
  }
  nodes_.nodes.push_back(node);
  return static_cast<GrammarExpr>(nodes_.nodes.size() - 1);
}

GrammarExpr GrammarBuilder::AddParts(GrammarNode::Kind kind, std::span<const GrammarExpr> parts) {
  if (parts.size() == 1) return parts.front();
  const auto first = static_cast<int32_t>(nodes_.parts.size());
  if (static_cast<int64_t>(nodes_.nodes.size() + nodes_.parts.size() + parts.size()) <
      nodes_.limits.max_expressions) {
    for (const GrammarExpr part : parts) nodes_.parts.push_back(static_cast<int32_t>(part));
  } else {
    is_too_large_ = true;
    parts = {};
  }
  return Add({.kind = kind, .first = first, .count = static_cast<int32_t>(parts.size())});
}

GrammarExpr GrammarBuilder::Literal(std::string_view text) {
  return Regex(nodes_.regexes->Literal(text));
}

GrammarExpr GrammarBuilder::SpecialToken(int32_t index) {
  const Symbol symbol = kFirstSpecialSymbol + static_cast<Symbol>(index);
  WEFT_CHECK(index >= 0 && symbol <= kLastSymbol);
  return Regex(nodes_.regexes->Set(SymbolSet({{symbol, symbol}})));
}

GrammarExpr GrammarBuilder::Regex(RegexId regex) {
  return Add({.kind = Kind::kRegex, .first = static_cast<int32_t>(regex)});
}

GrammarExpr GrammarBuilder::Terminal(RecognizerFactory factory) {
  nodes_.factories.push_back(std::move(factory));
  return Add({.kind = Kind::kTerminal, .first = static_cast<int32_t>(nodes_.factories.size() - 1)});
}

GrammarExpr GrammarBuilder::Sequence(std::span<const GrammarExpr> parts) {
  return AddParts(Kind::kSequence, parts);
}

GrammarExpr GrammarBuilder::Choice(std::span<const GrammarExpr> alternatives) {
  return AddParts(Kind::kChoice, alternatives);
}

GrammarExpr GrammarBuilder::Repeat(GrammarExpr body, int32_t min, std::optional<int32_t> max) {
  WEFT_CHECK(min >= 0 && (!max || *max >= min));
  const GrammarNode& inner = nodes_.nodes[static_cast<size_t>(body)];
  if (inner.kind == Kind::kRepeat && max != 0) {
    // x* and x+ any number of times, x? some times: quantifiers may come in long chains.
    if (inner.max == GrammarNode::kUnbounded && inner.count <= 1) {
      return Repeat(GrammarExpr{inner.first}, inner.count * min, std::nullopt);
    }
    if (inner.max == 1 && inner.count == 0) return Repeat(GrammarExpr{inner.first}, 0, max);
  }
  return Add({.kind = Kind::kRepeat,
              .first = static_cast<int32_t>(body),
              .count = min,
              .max = max.value_or(GrammarNode::kUnbounded)});
}

GrammarExpr GrammarBuilder::Rule(std::string name) {
  nodes_.rules.push_back({std::move(name), std::nullopt});
  return Add({.kind = Kind::kRule, .first = static_cast<int32_t>(nodes_.rules.size() - 1)});
}

void GrammarBuilder::Define(GrammarExpr rule, GrammarExpr body) {
  const GrammarNode& node = nodes_.nodes[static_cast<size_t>(rule)];
  if (is_too_large_) return;
  WEFT_CHECK(node.kind == Kind::kRule && !nodes_.rules[node.first].body);
  nodes_.rules[node.first].body = static_cast<int32_t>(body);
}

Result<Grammar> GrammarBuilder::Build(GrammarExpr start) {
  if (is_too_large_) {
    return Fail(ErrorCode::kResourceExhausted, "grammar: more than {} expressions",
                nodes_.limits.max_expressions);
  }
  for (const GrammarNodes::Rule& rule : nodes_.rules) {
    if (rule.body) continue;
    return Fail(ErrorCode::kInvalidArgument, "grammar: rule {} is used, but not defined",
                rule.name);
  }
  return GrammarCompiler(nodes_).Compile(static_cast<int32_t>(start));
}

}  // namespace weft
