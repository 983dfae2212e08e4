#include "grammar/cfg/gbnf.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/quoted.h"
#include "base/utf8.h"

namespace weft {

namespace {

class GbnfReader {
 public:
  GbnfReader(GrammarBuilder* builder, std::string_view text, const SpecialTokenLookup& tokens,
             const GrammarTextLimits& limits)
      : builder_(*builder), text_("gbnf", text), tokens_(tokens), limits_(limits) {}

  Result<GrammarExpr> Read();

 private:
  struct Rule {
    GrammarExpr expr = {};
    size_t first_use = 0;
    bool is_defined = false;
  };
  // What a quantifier may follow.
  struct Part {
    GrammarExpr expr = {};
    bool is_negated_token = false;  // `expr` is one character then
  };

  static bool IsNameCharacter(char c) { return IsAsciiAlphanumeric(c) || c == '-' || c == '_'; }

  void SkipSpace(bool newlines);
  Result<std::string> TakeName();
  Rule& RuleOf(const std::string& name, size_t offset);
  Result<void> ReadRule();
  Result<GrammarExpr> ReadAlternatives(int depth);
  Result<GrammarExpr> ReadSequence(int depth);
  Result<std::optional<Part>> ReadPart(int depth);
  Result<Part> ReadQuantifiers(Part part, bool newlines);
  Result<Part> ReadCount(const Part& part, bool newlines);
  Result<GrammarExpr> ReadGroup(int depth);
  Result<GrammarExpr> ReadLiteral();
  Result<GrammarExpr> ReadClass();
  Result<Symbol> ReadCharacter();
  Result<Part> ReadToken();
  GrammarExpr OneOf(const SymbolSet& set) { return builder_.Regex(builder_.regexes().Set(set)); }

  GrammarBuilder& builder_;
  GrammarText text_;
  const SpecialTokenLookup& tokens_;
  const GrammarTextLimits& limits_;
  std::map<std::string, Rule> rules_;
};

Result<GrammarExpr> GbnfReader::Read() {
  if (text_.rest().size() > limits_.max_bytes) {
    return Fail(ErrorCode::kResourceExhausted, "gbnf: {} bytes, expected at most {}",
                text_.rest().size(), limits_.max_bytes);
  }
  SkipSpace(true);
  while (!text_.AtEnd()) WEFT_RETURN_IF_ERROR(ReadRule());
  for (const auto& [name, rule] : rules_) {
    if (rule.is_defined) continue;
    return text_.WrongAt(rule.first_use, fmt::format("rule {} is not defined", name));
  }
  const auto root = rules_.find("root");
  if (root == rules_.end()) return text_.Wrong("found no rule root");
  return root->second.expr;
}

void GbnfReader::SkipSpace(bool newlines) {
  for (;; text_.Skip(1)) {
    const char c = text_.Peek();
    if (c == '#') {
      while (!text_.AtEnd() && text_.Peek() != '\r' && text_.Peek() != '\n') text_.Skip(1);
      if (!newlines || text_.AtEnd()) return;
    } else if (c != ' ' && c != '\t' && !(newlines && (c == '\r' || c == '\n'))) {
      return;
    }
  }
}

Result<std::string> GbnfReader::TakeName() {
  const size_t begin = text_.offset();
  while (IsNameCharacter(text_.Peek())) text_.Skip(1);
  if (text_.offset() == begin) {
    return text_.Wrong(fmt::format("found {}, expected a rule's name", text_.Found()));
  }
  return std::string(text_.Since(begin));
}

GbnfReader::Rule& GbnfReader::RuleOf(const std::string& name, size_t offset) {
  const auto [found, is_new] = rules_.try_emplace(name);
  if (is_new) found->second = {builder_.Rule(name), offset, false};
  return found->second;
}

Result<void> GbnfReader::ReadRule() {
  const size_t begin = text_.offset();
  WEFT_ASSIGN_OR_RETURN(const std::string name, TakeName());
  SkipSpace(false);
  if (!text_.Take("::=")) {
    return text_.Wrong(fmt::format("found {}, expected ::= behind {}", text_.Found(), name));
  }
  SkipSpace(true);
  Rule& rule = RuleOf(name, begin);
  if (rule.is_defined) {
    return text_.WrongAt(begin, fmt::format("rule {} is defined a second time", name));
  }
  rule.is_defined = true;
  WEFT_ASSIGN_OR_RETURN(const GrammarExpr body, ReadAlternatives(0));
  builder_.Define(rule.expr, body);
  if (!text_.AtEnd() && text_.Peek() != '\r' && text_.Peek() != '\n') {
    return text_.Wrong(fmt::format("found {}, expected an end of line", text_.Found()));
  }
  SkipSpace(true);
  return {};
}

Result<GrammarExpr> GbnfReader::ReadAlternatives(int depth) {
  std::vector<GrammarExpr> alternatives;
  do {
    if (!alternatives.empty()) SkipSpace(true);
    WEFT_ASSIGN_OR_RETURN(alternatives.emplace_back(), ReadSequence(depth));
  } while (text_.Take("|"));
  return builder_.Choice(alternatives);
}

Result<GrammarExpr> GbnfReader::ReadSequence(int depth) {
  const bool newlines = depth > 0;
  std::vector<GrammarExpr> parts;
  for (;;) {
    const size_t begin = text_.offset();
    WEFT_ASSIGN_OR_RETURN(const std::optional<Part> part, ReadPart(depth));
    if (!part) return builder_.Sequence(parts);
    SkipSpace(newlines);
    WEFT_ASSIGN_OR_RETURN(const Part repeated, ReadQuantifiers(*part, newlines));
    if (repeated.is_negated_token) {
      return text_.WrongAt(begin, "a negated token is no text, expected it before * or +");
    }
    parts.push_back(repeated.expr);
  }
}

// nullopt: the sequence has ended.
Result<std::optional<GbnfReader::Part>> GbnfReader::ReadPart(int depth) {
  const char c = text_.Peek();
  const auto plain = [](Result<GrammarExpr> expr) -> Result<std::optional<Part>> {
    if (!expr) return tl::unexpected(std::move(expr).error());
    return Part{*expr};
  };
  if (c == '"') return plain(ReadLiteral());
  if (c == '[') return plain(ReadClass());
  if (c == '(') return plain(ReadGroup(depth));
  if (c == '<' || c == '!') {
    WEFT_ASSIGN_OR_RETURN(const Part part, ReadToken());
    return part;
  }
  if (c == '.') {
    text_.Skip(1);
    return Part{OneOf(SymbolSet::AllCodePoints())};
  }
  if (IsNameCharacter(c)) {
    const size_t begin = text_.offset();
    WEFT_ASSIGN_OR_RETURN(const std::string name, TakeName());
    return Part{RuleOf(name, begin).expr};
  }
  if (c == '*' || c == '+' || c == '?' || c == '{') {
    return text_.Wrong(fmt::format("found {}, expected something to repeat before it", c));
  }
  return std::nullopt;
}

Result<GbnfReader::Part> GbnfReader::ReadQuantifiers(Part part, bool newlines) {
  for (;;) {
    const char c = text_.Peek();
    if (c == '{') {
      WEFT_ASSIGN_OR_RETURN(part, ReadCount(part, newlines));
    } else if (c == '*' || c == '+') {
      part = {builder_.Repeat(part.expr, c == '*' ? 0 : 1, std::nullopt)};
      text_.Skip(1);
    } else if (c == '?') {
      part.expr = builder_.Optional(part.expr);
      text_.Skip(1);
    } else {
      return part;
    }
    SkipSpace(newlines);
  }
}

Result<GbnfReader::Part> GbnfReader::ReadCount(const Part& part, bool newlines) {
  const size_t begin = text_.offset();
  text_.Skip(1);
  SkipSpace(newlines);
  int64_t min = 0;
  if (text_.Peek() != ',') {
    WEFT_ASSIGN_OR_RETURN(min, text_.TakeNumber(limits_.max_count));
    SkipSpace(newlines);
  }
  std::optional<int32_t> max = static_cast<int32_t>(min);
  if (text_.Take(",")) {
    SkipSpace(newlines);
    max.reset();
    if (text_.Peek() != '}') {
      WEFT_ASSIGN_OR_RETURN(const int64_t number, text_.TakeNumber(limits_.max_count));
      max = static_cast<int32_t>(number);
      SkipSpace(newlines);
    }
  }
  if (!text_.Take("}")) return text_.Wrong(fmt::format("found {}, expected }}", text_.Found()));
  if (max && *max < min) {
    return text_.WrongAt(begin, fmt::format("at least {}, but at most {}", min, *max));
  }
  return Part{builder_.Repeat(part.expr, static_cast<int32_t>(min), max), part.is_negated_token};
}

Result<GrammarExpr> GbnfReader::ReadGroup(int depth) {
  if (depth == limits_.max_depth) {
    return text_.Wrong(fmt::format("more than {} groups in one another", limits_.max_depth));
  }
  text_.Skip(1);
  SkipSpace(true);
  WEFT_ASSIGN_OR_RETURN(const GrammarExpr body, ReadAlternatives(depth + 1));
  if (!text_.Take(")")) return text_.Wrong(fmt::format("found {}, expected )", text_.Found()));
  return body;
}

Result<GrammarExpr> GbnfReader::ReadLiteral() {
  text_.Skip(1);
  std::string literal;
  while (text_.Peek() != '"') {
    WEFT_ASSIGN_OR_RETURN(const Symbol character, ReadCharacter());
    AppendUtf8(character, &literal);
  }
  text_.Skip(1);
  return builder_.Literal(literal);
}

Result<GrammarExpr> GbnfReader::ReadClass() {
  const size_t begin = text_.offset();
  text_.Skip(1);
  const bool is_negated = text_.Take("^");
  std::vector<SymbolRange> ranges;
  while (text_.Peek() != ']') {
    const size_t range_begin = text_.offset();
    WEFT_ASSIGN_OR_RETURN(const Symbol first, ReadCharacter());
    Symbol last = first;
    if (text_.Peek() == '-' && text_.Peek(1) != ']') {
      text_.Skip(1);
      WEFT_ASSIGN_OR_RETURN(last, ReadCharacter());
    }
    if (last < first) {
      return text_.WrongAt(range_begin, fmt::format("range {} ends before it begins",
                                                    Quoted(text_.Since(range_begin))));
    }
    ranges.push_back({first, last});
  }
  text_.Skip(1);
  if (ranges.empty()) return text_.WrongAt(begin, "a class without characters");
  const SymbolSet set(std::move(ranges));
  return OneOf(is_negated ? set.Complement() : set.Intersection(SymbolSet::AllCodePoints()));
}

Result<Symbol> GbnfReader::ReadCharacter() {
  return text_.Peek() == '\\' ? text_.TakeEscape("trnxuU\\\"[]-^") : text_.TakeCharacter();
}

Result<GbnfReader::Part> GbnfReader::ReadToken() {
  const bool is_negated = text_.Take("!");
  const size_t begin = text_.offset();
  if (!text_.Take("<")) return text_.Wrong(fmt::format("found {}, expected <", text_.Found()));
  std::optional<int32_t> token;
  if (text_.Take("[")) {
    WEFT_ASSIGN_OR_RETURN(const int64_t id, text_.TakeNumber(INT32_MAX));
    if (!text_.Take("]>")) return text_.Wrong(fmt::format("found {}, expected ]>", text_.Found()));
    if (tokens_.by_id) token = tokens_.by_id(id);
  } else {
    while (!text_.AtEnd() && text_.Peek() != '>') text_.Skip(1);
    if (!text_.Take(">")) return text_.Wrong("found the end, expected >");
    if (tokens_.by_name) token = tokens_.by_name(text_.Since(begin));
  }
  if (!token) {
    return text_.WrongAt(
        begin, fmt::format("{} is no special token of the model's", Quoted(text_.Since(begin))));
  }
  if (is_negated) return Part{OneOf(SymbolSet::AllCodePoints()), true};
  return Part{builder_.SpecialToken(*token)};
}

}  // namespace

Result<GrammarExpr> ReadGbnf(GrammarBuilder* builder, std::string_view text,
                             const SpecialTokenLookup& tokens, const GrammarTextLimits& limits) {
  return GbnfReader(builder, text, tokens, limits).Read();
}

}  // namespace weft
