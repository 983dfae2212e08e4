#include "grammar/cfg/lark.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/quoted.h"
#include "grammar/cfg/lark_syntax.h"
#include "grammar/regex/pattern.h"

namespace weft {

namespace {

// lark/grammars/common.lark. Where it relies on a lexer that stops as soon as it can (strings,
// comments), the pattern has only what ends there.
struct CommonTerminal {
  std::string_view name;
  std::string_view pattern;
};
constexpr CommonTerminal kCommonTerminals[] = {
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", R"([0-9]+\.[0-9]*|\.[0-9]+)"},
    {"FLOAT", R"([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)"},
    {"SIGNED_FLOAT", R"([+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?))"},
    {"NUMBER", R"(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)"},
    {"SIGNED_NUMBER", R"([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)"},
    {"ESCAPED_STRING", R"("([^"\\\n]|\\[^\n])*")"},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[a-zA-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"CNAME", "[_a-zA-Z][_a-zA-Z0-9]*"},
    {"WS_INLINE", R"([ \t]+)"},
    {"WS", R"([ \t\f\r\n]+)"},
    {"CR", R"(\r)"},
    {"LF", R"(\n)"},
    {"NEWLINE", R"((\r?\n)+)"},
    {"SH_COMMENT", R"(#[^\n]*)"},
    {"CPP_COMMENT", R"(//[^\n]*)"},
    {"C_COMMENT", R"(/\*([^*]|\*+[^*/])*\*+/)"},
    {"SQL_COMMENT", R"(--[^\n]*)"},
};

class LarkCompiler {
 public:
  LarkCompiler(GrammarBuilder* builder, const GrammarText& text, const LarkSyntax& syntax,
               const LarkLookup& lookup)
      : builder_(*builder),
        arena_(builder->regexes()),
        text_(text),
        syntax_(syntax),
        lookup_(lookup) {}

  Result<GrammarExpr> Compile();

 private:
  using Kind = LarkNode::Kind;
  static constexpr int kMaxDepth = 1000;  // of expressions, with those of terminals in terminals

  const LarkNode& NodeOf(int32_t node) const { return syntax_.nodes[node]; }
  Result<GrammarExpr> RuleBody(const LarkDefinition& rule);
  Result<void> CheckDepth(const LarkNode& node, int depth) const;
  Result<GrammarExpr> ExprOf(int32_t node, int depth);
  Result<GrammarExpr> NameExpr(int32_t node);
  Result<GrammarExpr> JsonExpr(const LarkNode& node);
  Result<GrammarExpr> SpecialExpr(const LarkNode& node);
  Result<int32_t> SpecialById(const LarkNode& node, int64_t id) const;
  // A terminal, and what is ignored behind it.
  GrammarExpr Lexeme(GrammarExpr terminal) { return builder_.Sequence({terminal, ignored_}); }

  Result<RegexId> RegexOf(int32_t node, int depth);
  Result<RegexId> TerminalRegex(const LarkNode& name, int depth);
  Result<RegexId> PatternRegex(size_t offset, std::string_view pattern, std::string_view flags);
  Result<RegexId> StringRegex(const LarkNode& node);
  // The texts of `regex` that do not begin with a shorter one.
  RegexId Shortest(RegexId regex);

  GrammarBuilder& builder_;
  RegexArena& arena_;
  const GrammarText& text_;
  const LarkSyntax& syntax_;
  const LarkLookup& lookup_;
  GrammarExpr ignored_ = {};
  std::map<std::string, GrammarExpr> rules_;
  std::map<std::string, std::optional<RegexId>> terminals_;  // nullopt: being made
};

Result<GrammarExpr> LarkCompiler::Compile() {
  std::vector<RegexId> ignored;
  for (const int32_t node : syntax_.ignored) {
    WEFT_ASSIGN_OR_RETURN(ignored.emplace_back(), RegexOf(node, 0));
  }
  ignored_ = builder_.Regex(arena_.Repeat(arena_.Or(ignored), 0));
  for (const auto& [name, alias] : syntax_.imports) {
    const auto defined = syntax_.definitions.find(name);
    if (defined == syntax_.definitions.end()) continue;
    return text_.WrongAt(defined->second.offset, fmt::format("{} is imported, too", name));
  }
  for (const auto& [name, definition] : syntax_.definitions) {
    if (!IsLarkTerminal(name)) rules_[name] = builder_.Rule(name);
  }
  const auto start = rules_.find("start");
  if (start == rules_.end()) return text_.Wrong("found no rule start");
  for (const auto& [name, rule] : rules_) {
    WEFT_ASSIGN_OR_RETURN(const GrammarExpr body, RuleBody(syntax_.definitions.at(name)));
    builder_.Define(rule, body);
  }
  return start->second;
}

Result<GrammarExpr> LarkCompiler::RuleBody(const LarkDefinition& rule) {
  if (!rule.is_lazy) return ExprOf(rule.body, 0);
  WEFT_ASSIGN_OR_RETURN(const RegexId body, RegexOf(rule.body, 0));
  const RegexId whole = arena_.Concat(body, arena_.Literal(rule.suffix));
  return Lexeme(builder_.Regex(Shortest(whole)));
}

RegexId LarkCompiler::Shortest(RegexId regex) {
  const RegexId more = arena_.Concat(arena_.Set(SymbolSet::AllCodePoints()), arena_.AnyText());
  return arena_.And(regex, arena_.Not(arena_.Concat(regex, more)));
}

Result<void> LarkCompiler::CheckDepth(const LarkNode& node, int depth) const {
  if (depth < kMaxDepth) return {};
  return text_.WrongAt(node.offset,
                       fmt::format("more than {} expressions in one another", kMaxDepth));
}

Result<GrammarExpr> LarkCompiler::ExprOf(int32_t node, int depth) {
  const LarkNode& what = NodeOf(node);
  WEFT_RETURN_IF_ERROR(CheckDepth(what, depth));
  std::vector<GrammarExpr> children;
  switch (what.kind) {
    case Kind::kString:
    case Kind::kPattern:
    case Kind::kRange: {
      WEFT_ASSIGN_OR_RETURN(const RegexId regex, RegexOf(node, 0));
      return Lexeme(builder_.Regex(regex));
    }
    case Kind::kName:
      return NameExpr(node);
    case Kind::kSpecial:
      return SpecialExpr(what);
    case Kind::kJson:
      return JsonExpr(what);
    case Kind::kAnd:
    case Kind::kNot:
      return text_.WrongAt(what.offset, "& and ~ are for terminals, not for rules");
    case Kind::kSequence:
    case Kind::kChoice:
    case Kind::kRepeat:
      break;
  }
  for (const int32_t child : what.children) {
    WEFT_ASSIGN_OR_RETURN(children.emplace_back(), ExprOf(child, depth + 1));
  }
  if (what.kind == Kind::kSequence) return builder_.Sequence(children);
  if (what.kind == Kind::kChoice) return builder_.Choice(children);
  return builder_.Repeat(children.front(), what.first,
                         what.last < 0 ? std::nullopt : std::optional<int32_t>(what.last));
}

Result<GrammarExpr> LarkCompiler::NameExpr(int32_t node) {
  const LarkNode& name = NodeOf(node);
  if (IsLarkTerminal(name.text)) {
    WEFT_ASSIGN_OR_RETURN(const RegexId regex, RegexOf(node, 0));
    return Lexeme(builder_.Regex(regex));
  }
  const auto rule = rules_.find(name.text);
  if (rule != rules_.end()) return rule->second;
  return text_.WrongAt(name.offset, fmt::format("rule {} is not defined", name.text));
}

Result<GrammarExpr> LarkCompiler::JsonExpr(const LarkNode& node) {
  if (!lookup_.json) return text_.WrongAt(node.offset, "%json is not supported here");
  Result<RecognizerFactory> factory = lookup_.json(node.text);
  if (!factory) return text_.WrongAt(node.offset, factory.error().message);
  return Lexeme(builder_.Terminal(*std::move(factory)));
}

// <name>, <[7]>, <[7,10-12]>
Result<GrammarExpr> LarkCompiler::SpecialExpr(const LarkNode& node) {
  std::vector<GrammarExpr> tokens;
  if (!node.text.starts_with("<[")) {
    const std::optional<int32_t> token =
        lookup_.tokens.by_name ? lookup_.tokens.by_name(node.text) : std::nullopt;
    if (!token) {
      return text_.WrongAt(node.offset,
                           fmt::format("{} is no special token of the model's", Quoted(node.text)));
    }
    return Lexeme(builder_.SpecialToken(*token));
  }
  GrammarText numbers("lark", node.text);
  numbers.Skip(2);
  do {
    const Result<int64_t> first = numbers.TakeNumber(kLastSymbol);
    const Result<int64_t> last =
        first && numbers.Take("-") ? numbers.TakeNumber(kLastSymbol) : first;
    if (!first || !last || *last < *first) {
      return text_.WrongAt(node.offset,
                           fmt::format("found {}, expected numbers of tokens", Quoted(node.text)));
    }
    for (int64_t id = *first; id <= *last; ++id) {
      WEFT_ASSIGN_OR_RETURN(const int32_t token, SpecialById(node, id));
      tokens.push_back(builder_.SpecialToken(token));
    }
  } while (numbers.Take(","));
  if (numbers.rest() != "]>") {
    return text_.WrongAt(node.offset,
                         fmt::format("found {}, expected numbers of tokens", Quoted(node.text)));
  }
  return Lexeme(builder_.Choice(tokens));
}

Result<int32_t> LarkCompiler::SpecialById(const LarkNode& node, int64_t id) const {
  const std::optional<int32_t> token =
      lookup_.tokens.by_id ? lookup_.tokens.by_id(id) : std::nullopt;
  if (token) return *token;
  return text_.WrongAt(
      node.offset, fmt::format("{}: {} is no special token of the model's", Quoted(node.text), id));
}

Result<RegexId> LarkCompiler::RegexOf(int32_t node, int depth) {
  const LarkNode& what = NodeOf(node);
  WEFT_RETURN_IF_ERROR(CheckDepth(what, depth));
  std::vector<RegexId> children;
  for (const int32_t child : what.children) {
    WEFT_ASSIGN_OR_RETURN(children.emplace_back(), RegexOf(child, depth + 1));
  }
  switch (what.kind) {
    case Kind::kString:
      return StringRegex(what);
    case Kind::kPattern:
      return PatternRegex(what.offset, what.text, what.flags);
    case Kind::kRange: {
      const SymbolSet range({{static_cast<Symbol>(what.first), static_cast<Symbol>(what.last)}});
      return arena_.Set(range.Intersection(SymbolSet::AllCodePoints()));
    }
    case Kind::kName:
      return TerminalRegex(what, depth);
    case Kind::kSpecial:
    case Kind::kJson:
      return text_.WrongAt(what.offset,
                           fmt::format("{} is for rules, not for terminals",
                                       what.kind == Kind::kJson ? "%json" : "a special token"));
    case Kind::kSequence:
      return arena_.Concat(children);
    case Kind::kChoice:
      return arena_.Or(children);
    case Kind::kAnd:
      return arena_.And(children);
    case Kind::kNot:
      return arena_.Not(children.front());
    case Kind::kRepeat:
      break;
  }
  return arena_.Repeat(
      children.front(), static_cast<uint32_t>(what.first),
      what.last < 0 ? std::nullopt : std::optional<uint32_t>(static_cast<uint32_t>(what.last)));
}

Result<RegexId> LarkCompiler::TerminalRegex(const LarkNode& name, int depth) {
  if (!IsLarkTerminal(name.text)) {
    return text_.WrongAt(name.offset, fmt::format("found rule {}, expected a terminal", name.text));
  }
  const auto [found, is_new] = terminals_.try_emplace(name.text);
  if (!is_new) {
    if (found->second) return *found->second;
    return text_.WrongAt(name.offset, fmt::format("terminal {} is part of itself", name.text));
  }
  if (const auto import = syntax_.imports.find(name.text); import != syntax_.imports.end()) {
    for (const CommonTerminal& common : kCommonTerminals) {
      if (common.name != import->second) continue;
      WEFT_ASSIGN_OR_RETURN(found->second, PatternRegex(name.offset, common.pattern, ""));
      return *found->second;
    }
    return text_.WrongAt(name.offset, fmt::format("common has no terminal {}", import->second));
  }
  const auto definition = syntax_.definitions.find(name.text);
  if (definition == syntax_.definitions.end()) {
    return text_.WrongAt(name.offset, fmt::format("terminal {} is not defined", name.text));
  }
  WEFT_ASSIGN_OR_RETURN(found->second, RegexOf(definition->second.body, depth + 1));
  return *found->second;
}

Result<RegexId> LarkCompiler::StringRegex(const LarkNode& node) {
  if (node.flags.empty()) return arena_.Literal(node.text);
  std::string pattern;
  for (const char c : node.text) {
    const bool is_plain = IsAsciiAlphanumeric(c) || static_cast<uint8_t>(c) >= 0x80;
    if (!is_plain && static_cast<uint8_t>(c) > ' ') pattern.push_back('\\');
    pattern.push_back(c);
  }
  return PatternRegex(node.offset, pattern, node.flags);
}

Result<RegexId> LarkCompiler::PatternRegex(size_t offset, std::string_view pattern,
                                           std::string_view flags) {
  std::string with_flags;
  for (const char flag : flags) {
    if (std::string_view("imsxu").find(flag) == std::string_view::npos) {
      return text_.WrongAt(offset, fmt::format("flag {} is not supported", flag));
    }
    if (flag != 'u') with_flags.push_back(flag);  // as it is without
  }
  if (!with_flags.empty()) with_flags = "(?" + with_flags + ")";
  with_flags += pattern;
  const Result<RegexId> regex = ParsePattern(&arena_, with_flags, PatternDialect::kRust);
  if (!regex) return text_.WrongAt(offset, regex.error().message);
  return *regex;
}

}  // namespace

Result<GrammarExpr> ReadLark(GrammarBuilder* builder, std::string_view text,
                             const LarkLookup& lookup, const GrammarTextLimits& limits) {
  GrammarText source("lark", text);
  WEFT_ASSIGN_OR_RETURN(const LarkSyntax syntax, ReadLarkSyntax(&source, limits));
  return LarkCompiler(builder, source, syntax, lookup).Compile();
}

}  // namespace weft
