#include "model/tokenizer/jinja/expression_parser.h"

#include <algorithm>

#include "model/tokenizer/jinja/limits.h"

namespace weft::jinja {
namespace {

// Of expressions within brackets, which count three times, and of signs: each costs the parser some
// calls.
constexpr int kMaxParseNesting = 300;

class NestingGuard {
 public:
  explicit NestingGuard(int& nesting) : nesting_(nesting) { ++nesting_; }
  NestingGuard(const NestingGuard&) = delete;
  NestingGuard& operator=(const NestingGuard&) = delete;
  ~NestingGuard() { --nesting_; }
  bool ok() const { return nesting_ <= kMaxParseNesting; }

 private:
  int& nesting_;
};

bool CanAssign(const Expression& target) {
  if (target.kind == ExpressionKind::kTuple) {
    return std::all_of(target.operands.begin(), target.operands.end(),
                       [](const ExpressionPtr& item) { return CanAssign(*item); });
  }
  return target.kind == ExpressionKind::kName || target.kind == ExpressionKind::kNamespaceTarget;
}

}  // namespace

ExpressionPtr ExpressionParser::Make(ExpressionKind kind, int line) {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->line = line;
  return expression;
}

ExpressionPtr ExpressionParser::MakeConstant(Value value, int line) {
  ExpressionPtr expression = Make(ExpressionKind::kConstant, line);
  expression->constant = std::move(value);
  return expression;
}

Result<ExpressionPtr> ExpressionParser::Finish(ExpressionPtr expression) const {
  int deepest = 0;
  const auto see = [&](const ExpressionPtr& part) {
    if (part != nullptr) deepest = std::max(deepest, part->depth);
  };
  for (const ExpressionPtr& operand : expression->operands) see(operand);
  if (expression->arguments != nullptr) {
    const Arguments& arguments = *expression->arguments;
    for (const ExpressionPtr& argument : arguments.positional) see(argument);
    for (const auto& [name, argument] : arguments.keyword) see(argument);
    see(arguments.more_positional);
    see(arguments.more_keyword);
  }
  expression->depth = deepest + 1;
  if (expression->depth > kMaxExpressionDepth) {
    return tokens_.Wrong(expression->line, "the expression is nested deeper than {} levels",
                         kMaxExpressionDepth);
  }
  return expression;
}

Result<ExpressionPtr> ExpressionParser::FinishBinary(ExpressionKind kind, int line,
                                                     ExpressionPtr left, ExpressionPtr right,
                                                     BinaryOperator op) const {
  ExpressionPtr expression = Make(kind, line);
  expression->binary = op;
  expression->operands.push_back(std::move(left));
  if (right != nullptr) expression->operands.push_back(std::move(right));
  return Finish(std::move(expression));
}

Result<ExpressionPtr> ExpressionParser::Parse(bool with_conditional) {
  const NestingGuard guard(nesting_);
  if (!guard.ok()) {
    return tokens_.Wrong(tokens_.line(), "the expression is nested deeper than {} brackets",
                         kMaxParseNesting / 3);
  }
  return with_conditional ? ParseConditional() : ParseOr();
}

Result<ExpressionPtr> ExpressionParser::ParseTuple(bool with_conditional) {
  return ParseTupleOf(TupleMode::kPlain, with_conditional);
}

bool ExpressionParser::AtTupleEnd() const {
  return tokens_.Is(TokenKind::kVariableEnd) || tokens_.Is(TokenKind::kBlockEnd) ||
         tokens_.IsOperator(")");
}

Result<ExpressionPtr> ExpressionParser::ParseTupleOf(TupleMode mode, bool with_conditional) {
  const NestingGuard guard(nesting_);
  if (!guard.ok()) {
    return tokens_.Wrong(tokens_.line(), "the expression is nested deeper than {} brackets",
                         kMaxParseNesting / 3);
  }
  ExpressionPtr tuple = Make(ExpressionKind::kTuple, tokens_.line());
  bool is_tuple = false;
  while (true) {
    if (!tuple->operands.empty()) {
      WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    }
    if (AtTupleEnd()) break;
    const bool is_target = mode == TupleMode::kTarget || mode == TupleMode::kNamespaceTarget;
    WEFT_ASSIGN_OR_RETURN(
        ExpressionPtr item,
        is_target ? ParsePrimary(mode == TupleMode::kNamespaceTarget) : Parse(with_conditional));
    tuple->operands.push_back(std::move(item));
    if (!tokens_.IsOperator(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return Finish(std::move(tuple));
  if (!tuple->operands.empty()) return std::move(tuple->operands.front());
  if (mode != TupleMode::kParenthesised) return tokens_.Unexpected("an expression");
  return tuple;
}

Result<ExpressionPtr> ExpressionParser::ParseTarget(bool with_namespace) {
  WEFT_ASSIGN_OR_RETURN(
      ExpressionPtr target,
      ParseTupleOf(with_namespace ? TupleMode::kNamespaceTarget : TupleMode::kTarget, true));
  if (!CanAssign(*target)) {
    return tokens_.Wrong(target->line,
                         "found an expression where something is assigned, expected a name");
  }
  return target;
}

Result<ExpressionPtr> ExpressionParser::ParseTargetName() {
  const int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(std::string name, tokens_.ExpectAnyName());
  for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
    if (name == constant) return tokens_.Wrong(line, "'{}' cannot be assigned to", name);
  }
  ExpressionPtr target = Make(ExpressionKind::kName, line);
  target->text = std::move(name);
  return target;
}

Result<ExpressionPtr> ExpressionParser::ParseConditional() {
  int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr value, ParseOr());
  while (tokens_.TakeName("if")) {
    ExpressionPtr conditional = Make(ExpressionKind::kConditional, line);
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr condition, ParseOr());
    ExpressionPtr otherwise;
    if (tokens_.TakeName("else")) {
      WEFT_ASSIGN_OR_RETURN(otherwise, Parse());
    }
    conditional->operands.push_back(std::move(condition));
    conditional->operands.push_back(std::move(value));
    conditional->operands.push_back(std::move(otherwise));
    WEFT_ASSIGN_OR_RETURN(value, Finish(std::move(conditional)));
    line = tokens_.line();
  }
  return value;
}

Result<ExpressionPtr> ExpressionParser::ParseOr() {
  int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr left, ParseAnd());
  while (tokens_.TakeName("or")) {
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr right, ParseAnd());
    WEFT_ASSIGN_OR_RETURN(
        left, FinishBinary(ExpressionKind::kOr, line, std::move(left), std::move(right)));
    line = tokens_.line();
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseAnd() {
  int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr left, ParseNot());
  while (tokens_.TakeName("and")) {
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr right, ParseNot());
    WEFT_ASSIGN_OR_RETURN(
        left, FinishBinary(ExpressionKind::kAnd, line, std::move(left), std::move(right)));
    line = tokens_.line();
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseNot() {
  if (!tokens_.IsName("not")) return ParseCompare();
  const NestingGuard guard(nesting_);
  if (!guard.ok()) return tokens_.Wrong(tokens_.line(), "too many 'not'");
  const int line = tokens_.Next().line;
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr inner, ParseNot());
  return FinishBinary(ExpressionKind::kNot, line, std::move(inner), nullptr);
}

Result<ExpressionPtr> ExpressionParser::ParseCompare() {
  static constexpr std::pair<std::string_view, CompareOperator> kOperators[] = {
      {"==", CompareOperator::kEqual},  {"!=", CompareOperator::kNotEqual},
      {"<", CompareOperator::kLess},    {"<=", CompareOperator::kLessEqual},
      {">", CompareOperator::kGreater}, {">=", CompareOperator::kGreaterEqual}};
  const int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr first, ParseSum());
  ExpressionPtr compare;
  while (true) {
    std::optional<CompareOperator> found;
    for (const auto& [symbol, op] : kOperators) {
      if (tokens_.IsOperator(symbol)) found = op;
    }
    if (tokens_.IsName("in")) found = CompareOperator::kIn;
    if (tokens_.IsName("not") && TokenStream::IsNameToken(tokens_.ahead(), "in")) {
      tokens_.Next();
      found = CompareOperator::kNotIn;
    }
    if (!found) break;
    tokens_.Next();
    if (compare == nullptr) {
      compare = Make(ExpressionKind::kCompare, line);
      compare->operands.push_back(std::move(first));
    }
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr operand, ParseSum());
    compare->comparisons.push_back(*found);
    compare->operands.push_back(std::move(operand));
  }
  if (compare == nullptr) return first;
  return Finish(std::move(compare));
}

Result<ExpressionPtr> ExpressionParser::ParseSum() {
  int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr left, ParseConcatenation());
  while (tokens_.IsOperator("+") || tokens_.IsOperator("-")) {
    const auto op = tokens_.Next().text == "+" ? BinaryOperator::kAdd : BinaryOperator::kSubtract;
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr right, ParseConcatenation());
    WEFT_ASSIGN_OR_RETURN(
        left, FinishBinary(ExpressionKind::kBinary, line, std::move(left), std::move(right), op));
    line = tokens_.line();
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseConcatenation() {
  const int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr first, ParseProduct());
  if (!tokens_.IsOperator("~")) return first;
  ExpressionPtr concatenation = Make(ExpressionKind::kConcatenate, line);
  concatenation->operands.push_back(std::move(first));
  while (tokens_.TakeOperator("~")) {
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr operand, ParseProduct());
    concatenation->operands.push_back(std::move(operand));
  }
  return Finish(std::move(concatenation));
}

Result<ExpressionPtr> ExpressionParser::ParseProduct() {
  static constexpr std::pair<std::string_view, BinaryOperator> kOperators[] = {
      {"*", BinaryOperator::kMultiply},
      {"/", BinaryOperator::kDivide},
      {"//", BinaryOperator::kFloorDivide},
      {"%", BinaryOperator::kModulo}};
  int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr left, ParsePower());
  while (true) {
    std::optional<BinaryOperator> found;
    for (const auto& [symbol, op] : kOperators) {
      if (tokens_.IsOperator(symbol)) found = op;
    }
    if (!found) return left;
    tokens_.Next();
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr right, ParsePower());
    WEFT_ASSIGN_OR_RETURN(left, FinishBinary(ExpressionKind::kBinary, line, std::move(left),
                                             std::move(right), *found));
    line = tokens_.line();
  }
}

// Unlike Python's, Jinja's ** takes the left first.
Result<ExpressionPtr> ExpressionParser::ParsePower() {
  int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr left, ParseUnary());
  while (tokens_.TakeOperator("**")) {
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr right, ParseUnary());
    WEFT_ASSIGN_OR_RETURN(left, FinishBinary(ExpressionKind::kBinary, line, std::move(left),
                                             std::move(right), BinaryOperator::kPower));
    line = tokens_.line();
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseUnary(bool with_filters) {
  const NestingGuard guard(nesting_);
  if (!guard.ok()) {
    return tokens_.Wrong(tokens_.line(), "the expression is nested deeper than {} signs",
                         kMaxParseNesting);
  }
  const int line = tokens_.line();
  ExpressionPtr node;
  if (tokens_.IsOperator("-") || tokens_.IsOperator("+")) {
    const auto kind = tokens_.Next().text == "-" ? ExpressionKind::kNegate : ExpressionKind::kPlus;
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr inner, ParseUnary(false));
    WEFT_ASSIGN_OR_RETURN(node, FinishBinary(kind, line, std::move(inner), nullptr));
  } else {
    WEFT_ASSIGN_OR_RETURN(node, ParsePrimary(false));
  }
  WEFT_ASSIGN_OR_RETURN(node, ParsePostfix(std::move(node)));
  if (with_filters) return ParseFiltersAndTests(std::move(node));
  return node;
}

Result<ExpressionPtr> ExpressionParser::ParsePrimary(bool with_namespace) {
  switch (tokens_.current().kind) {
    case TokenKind::kName:
      return ParseNameOrConstant(with_namespace);
    case TokenKind::kString:
      return ParseString();
    case TokenKind::kInteger: {
      const Token& token = tokens_.Next();
      return MakeConstant(Value::Int(token.integer), token.line);
    }
    case TokenKind::kFloat: {
      const Token& token = tokens_.Next();
      return MakeConstant(Value::Float(token.number), token.line);
    }
    default:
      break;
  }
  if (tokens_.TakeOperator("(")) {
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr inner, ParseTupleOf(TupleMode::kParenthesised, true));
    WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(")"));
    return inner;
  }
  if (tokens_.IsOperator("[")) return ParseList();
  if (tokens_.IsOperator("{")) return ParseDict();
  return tokens_.Unexpected("an expression");
}

Result<ExpressionPtr> ExpressionParser::ParseNameOrConstant(bool with_namespace) {
  Token& token = tokens_.Next();
  if (token.text == "true" || token.text == "True") {
    return MakeConstant(Value::Bool(true), token.line);
  }
  if (token.text == "false" || token.text == "False") {
    return MakeConstant(Value::Bool(false), token.line);
  }
  if (token.text == "none" || token.text == "None") {
    return MakeConstant(Value::None(), token.line);
  }
  ExpressionPtr name = Make(ExpressionKind::kName, token.line);
  name->text = std::move(token.text);
  if (with_namespace && tokens_.TakeOperator(".")) {
    WEFT_ASSIGN_OR_RETURN(std::string attribute, tokens_.ExpectAnyName());
    name->kind = ExpressionKind::kNamespaceTarget;
    name->constant = ConstantString(std::move(attribute));
  }
  return name;
}

Result<ExpressionPtr> ExpressionParser::ParseString() {
  const int line = tokens_.line();
  std::string text;
  while (tokens_.Is(TokenKind::kString)) text.append(tokens_.Next().text);
  return MakeConstant(ConstantString(std::move(text)), line);
}

Result<ExpressionPtr> ExpressionParser::ParseList() {
  ExpressionPtr list = Make(ExpressionKind::kList, tokens_.Next().line);
  while (!tokens_.IsOperator("]")) {
    if (!list->operands.empty()) {
      WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    }
    if (tokens_.IsOperator("]")) break;
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr item, Parse());
    list->operands.push_back(std::move(item));
  }
  tokens_.Next();
  return Finish(std::move(list));
}

Result<ExpressionPtr> ExpressionParser::ParseDict() {
  ExpressionPtr dict = Make(ExpressionKind::kDict, tokens_.Next().line);
  while (!tokens_.IsOperator("}")) {
    if (!dict->operands.empty()) {
      WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    }
    if (tokens_.IsOperator("}")) break;
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr key, Parse());
    WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(":"));
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr value, Parse());
    dict->operands.push_back(std::move(key));
    dict->operands.push_back(std::move(value));
  }
  tokens_.Next();
  return Finish(std::move(dict));
}

}  // namespace weft::jinja
