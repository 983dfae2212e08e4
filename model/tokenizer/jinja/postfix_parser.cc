// What follows a value: .name, [key], (arguments), |filter, is test.
#include "base/quoted.h"
#include "model/tokenizer/jinja/builtins.h"
#include "model/tokenizer/jinja/expression_parser.h"

namespace weft::jinja {

Result<ExpressionPtr> ExpressionParser::ParsePostfix(ExpressionPtr inner) {
  while (true) {
    if (tokens_.IsOperator(".")) {
      WEFT_ASSIGN_OR_RETURN(inner, ParseAttribute(std::move(inner)));
    } else if (tokens_.IsOperator("[")) {
      WEFT_ASSIGN_OR_RETURN(inner, ParseSubscript(std::move(inner)));
    } else if (tokens_.IsOperator("(")) {
      WEFT_ASSIGN_OR_RETURN(inner, ParseCall(std::move(inner)));
    } else {
      return inner;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::ParseFiltersAndTests(ExpressionPtr inner) {
  while (true) {
    if (tokens_.IsOperator("|")) {
      WEFT_ASSIGN_OR_RETURN(inner, ParseFilters(std::move(inner)));
    } else if (tokens_.IsName("is")) {
      WEFT_ASSIGN_OR_RETURN(inner, ParseTest(std::move(inner)));
    } else if (tokens_.IsOperator("(")) {
      WEFT_ASSIGN_OR_RETURN(inner, ParseCall(std::move(inner)));
    } else {
      return inner;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::ParseAttribute(ExpressionPtr inner) {
  const int line = tokens_.Next().line;
  if (tokens_.Is(TokenKind::kInteger)) {
    ExpressionPtr index = MakeConstant(Value::Int(tokens_.Next().integer), line);
    return FinishBinary(ExpressionKind::kItem, line, std::move(inner), std::move(index));
  }
  if (!tokens_.Is(TokenKind::kName)) return tokens_.Unexpected("a name or a number");
  ExpressionPtr attribute = Make(ExpressionKind::kAttribute, line);
  attribute->text = tokens_.Next().text;
  attribute->constant = ConstantString(attribute->text);
  attribute->operands.push_back(std::move(inner));
  return Finish(std::move(attribute));
}

Result<ExpressionPtr> ExpressionParser::ParseSubscript(ExpressionPtr inner) {
  const int line = tokens_.Next().line;
  if (tokens_.IsOperator(":")) return ParseSlice(std::move(inner), nullptr, line);
  ExpressionPtr tuple = Make(ExpressionKind::kTuple, line);
  bool has_comma = false;
  while (!tokens_.IsOperator("]")) {
    if (!tuple->operands.empty()) {
      WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      has_comma = true;
    }
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr item, Parse());
    if (tokens_.IsOperator(":") && tuple->operands.empty()) {
      return ParseSlice(std::move(inner), std::move(item), line);
    }
    tuple->operands.push_back(std::move(item));
  }
  tokens_.Next();
  ExpressionPtr key;
  if (tuple->operands.size() == 1 && !has_comma) {
    key = std::move(tuple->operands.front());
  } else {
    WEFT_ASSIGN_OR_RETURN(key, Finish(std::move(tuple)));
  }
  return FinishBinary(ExpressionKind::kItem, line, std::move(inner), std::move(key));
}

Result<ExpressionPtr> ExpressionParser::ParseSlice(ExpressionPtr inner, ExpressionPtr start,
                                                   int line) {
  ExpressionPtr slice = Make(ExpressionKind::kSlice, line);
  ExpressionPtr stop;
  ExpressionPtr step;
  WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(":"));
  if (!tokens_.IsOperator(":") && !tokens_.IsOperator("]")) {
    WEFT_ASSIGN_OR_RETURN(stop, Parse());
  }
  if (tokens_.TakeOperator(":") && !tokens_.IsOperator("]")) {
    WEFT_ASSIGN_OR_RETURN(step, Parse());
  }
  WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator("]"));
  slice->operands.push_back(std::move(inner));
  slice->operands.push_back(std::move(start));
  slice->operands.push_back(std::move(stop));
  slice->operands.push_back(std::move(step));
  return Finish(std::move(slice));
}

Result<ExpressionPtr> ExpressionParser::ParseCall(ExpressionPtr inner) {
  ExpressionPtr call = Make(ExpressionKind::kCall, tokens_.line());
  WEFT_ASSIGN_OR_RETURN(call->arguments, ParseArguments());
  call->operands.push_back(std::move(inner));
  return Finish(std::move(call));
}

Result<std::unique_ptr<Arguments>> ExpressionParser::ParseArguments() {
  auto arguments = std::make_unique<Arguments>();
  WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator("("));
  bool first = true;
  while (!tokens_.IsOperator(")")) {
    if (!first) {
      WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      if (tokens_.IsOperator(")")) break;
    }
    first = false;
    WEFT_RETURN_IF_ERROR(ParseArgument(arguments.get()));
  }
  tokens_.Next();
  return arguments;
}

Result<void> ExpressionParser::ParseArgument(Arguments* arguments) {
  const int line = tokens_.line();
  const auto misplaced = [&] {
    return tokens_.Wrong(line, "found an argument out of order, expected positional ones first");
  };
  if (tokens_.TakeOperator("*")) {
    if (arguments->more_positional != nullptr || arguments->more_keyword != nullptr) {
      return misplaced();
    }
    WEFT_ASSIGN_OR_RETURN(arguments->more_positional, Parse());
    return {};
  }
  if (tokens_.TakeOperator("**")) {
    if (arguments->more_keyword != nullptr) return misplaced();
    WEFT_ASSIGN_OR_RETURN(arguments->more_keyword, Parse());
    return {};
  }
  const Token& ahead = tokens_.ahead();
  if (tokens_.Is(TokenKind::kName) && ahead.kind == TokenKind::kOperator && ahead.text == "=") {
    if (arguments->more_keyword != nullptr) return misplaced();
    std::string name = tokens_.Next().text;
    tokens_.Next();
    for (const auto& [earlier, value] : arguments->keyword) {
      if (earlier == name) return tokens_.Wrong(line, "argument {} given twice", Quoted(name));
    }
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr value, Parse());
    arguments->keyword.emplace_back(std::move(name), std::move(value));
    return {};
  }
  if (arguments->more_positional != nullptr || arguments->more_keyword != nullptr ||
      !arguments->keyword.empty()) {
    return misplaced();
  }
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr value, Parse());
  arguments->positional.push_back(std::move(value));
  return {};
}

Result<std::string> ExpressionParser::ParseDottedName() {
  WEFT_ASSIGN_OR_RETURN(std::string name, tokens_.ExpectAnyName());
  while (tokens_.TakeOperator(".")) {
    WEFT_ASSIGN_OR_RETURN(const std::string part, tokens_.ExpectAnyName());
    name.append(".").append(part);
  }
  return name;
}

Result<ExpressionPtr> ExpressionParser::ParseFilters(ExpressionPtr inner, bool inline_first) {
  while (inline_first || tokens_.IsOperator("|")) {
    if (!inline_first) tokens_.Next();
    inline_first = false;
    ExpressionPtr filter = Make(ExpressionKind::kFilter, tokens_.line());
    WEFT_ASSIGN_OR_RETURN(filter->text, ParseDottedName());
    filter->builtin = FindFilter(filter->text);
    if (tokens_.IsOperator("(")) {
      WEFT_ASSIGN_OR_RETURN(filter->arguments, ParseArguments());
    } else {
      filter->arguments = std::make_unique<Arguments>();
    }
    filter->operands.push_back(std::move(inner));
    WEFT_ASSIGN_OR_RETURN(inner, Finish(std::move(filter)));
  }
  return inner;
}

Result<ExpressionPtr> ExpressionParser::ParseTest(ExpressionPtr inner) {
  const int line = tokens_.Next().line;
  const bool negated = tokens_.TakeName("not");
  ExpressionPtr test = Make(ExpressionKind::kTest, line);
  WEFT_ASSIGN_OR_RETURN(test->text, ParseDottedName());
  test->builtin = FindTest(test->text);
  test->operands.push_back(std::move(inner));
  test->arguments = std::make_unique<Arguments>();
  const Token& token = tokens_.current();
  const bool begins_operand = token.kind == TokenKind::kName || token.kind == TokenKind::kString ||
                              token.kind == TokenKind::kInteger ||
                              token.kind == TokenKind::kFloat || tokens_.IsOperator("[") ||
                              tokens_.IsOperator("{");
  if (tokens_.IsOperator("(")) {
    WEFT_ASSIGN_OR_RETURN(test->arguments, ParseArguments());
  } else if (begins_operand && !tokens_.IsName("else") && !tokens_.IsName("or") &&
             !tokens_.IsName("and")) {
    if (tokens_.IsName("is")) return tokens_.Wrong(line, "tests cannot be chained with 'is'");
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr argument, ParsePrimary(false));
    WEFT_ASSIGN_OR_RETURN(argument, ParsePostfix(std::move(argument)));
    test->arguments->positional.push_back(std::move(argument));
  }
  WEFT_ASSIGN_OR_RETURN(test, Finish(std::move(test)));
  if (!negated) return test;
  return FinishBinary(ExpressionKind::kNot, line, std::move(test), nullptr);
}

}  // namespace weft::jinja
