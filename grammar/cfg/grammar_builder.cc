#include "grammar/cfg/grammar_builder.h"

#include <utility>

#include "base/check.h"
#include "grammar/cfg/grammar_compiler.h"

namespace weft {

GrammarBuilder::GrammarBuilder(const GrammarLimits& limits)
    : limits_(limits), regexes_(std::make_shared<RegexArena>()) {}

// Beyond the limit nothing grows any more, and Build fails.
GrammarExpr GrammarBuilder::Add(const Node& node) {
  if (static_cast<int64_t>(nodes_.size() + parts_.size()) >= limits_.max_expressions) {
    is_too_large_ = true;
    if (!nodes_.empty()) return GrammarExpr{0};
  }
  nodes_.push_back(node);
  return static_cast<GrammarExpr>(nodes_.size() - 1);
}

GrammarExpr GrammarBuilder::AddParts(Kind kind, std::span<const GrammarExpr> parts) {
  if (parts.size() == 1) return parts.front();
  const auto first = static_cast<int32_t>(parts_.size());
  if (static_cast<int64_t>(nodes_.size() + parts_.size() + parts.size()) <
      limits_.max_expressions) {
    parts_.insert(parts_.end(), parts.begin(), parts.end());
  } else {
    is_too_large_ = true;
    parts = {};
  }
  return Add({.kind = kind, .first = first, .count = static_cast<int32_t>(parts.size())});
}

GrammarExpr GrammarBuilder::Literal(std::string_view text) {
  return Regex(regexes_->Literal(text));
}

GrammarExpr GrammarBuilder::SpecialToken(int32_t index) {
  const Symbol symbol = kFirstSpecialSymbol + static_cast<Symbol>(index);
  WEFT_CHECK(index >= 0 && symbol <= kLastSymbol);
  return Regex(regexes_->Set(SymbolSet({{symbol, symbol}})));
}

GrammarExpr GrammarBuilder::Regex(RegexId regex) {
  return Add({.kind = Kind::kRegex, .first = static_cast<int32_t>(regex)});
}

GrammarExpr GrammarBuilder::Terminal(RecognizerFactory factory) {
  factories_.push_back(std::move(factory));
  return Add({.kind = Kind::kTerminal, .first = static_cast<int32_t>(factories_.size() - 1)});
}

GrammarExpr GrammarBuilder::Sequence(std::span<const GrammarExpr> parts) {
  return AddParts(Kind::kSequence, parts);
}

GrammarExpr GrammarBuilder::Choice(std::span<const GrammarExpr> alternatives) {
  return AddParts(Kind::kChoice, alternatives);
}

GrammarExpr GrammarBuilder::Repeat(GrammarExpr body, int32_t min, std::optional<int32_t> max) {
  WEFT_CHECK(min >= 0 && (!max || *max >= min));
  return Add({.kind = Kind::kRepeat,
              .first = static_cast<int32_t>(body),
              .count = min,
              .max = max.value_or(kUnbounded)});
}

GrammarExpr GrammarBuilder::Rule(std::string name) {
  rules_.push_back({std::move(name), std::nullopt});
  return Add({.kind = Kind::kRule, .first = static_cast<int32_t>(rules_.size() - 1)});
}

void GrammarBuilder::Define(GrammarExpr rule, GrammarExpr body) {
  const Node& node = nodes_[static_cast<size_t>(rule)];
  if (is_too_large_) return;
  WEFT_CHECK(node.kind == Kind::kRule && !rules_[node.first].body);
  rules_[node.first].body = body;
}

Result<Grammar> GrammarBuilder::Build(GrammarExpr start) {
  if (is_too_large_) {
    return Fail(ErrorCode::kResourceExhausted, "grammar: more than {} expressions",
                limits_.max_expressions);
  }
  for (const RuleDefinition& rule : rules_) {
    if (rule.body) continue;
    return Fail(ErrorCode::kInvalidArgument, "grammar: rule {} is used, but not defined",
                rule.name);
  }
  return GrammarCompiler(*this).Compile(start);
}

}  // namespace weft
