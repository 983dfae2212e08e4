#include "model/tokenizer/jinja/parser.h"

#include <algorithm>
#include <initializer_list>

#include "base/quoted.h"
#include "model/tokenizer/jinja/expression_parser.h"
#include "model/tokenizer/jinja/limits.h"
#include "model/tokenizer/jinja/resolver.h"
#include "model/tokenizer/jinja/token_stream.h"

namespace weft::jinja {
namespace {

using Names = std::initializer_list<std::string_view>;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)), expressions_(&tokens_) {}

  Result<Body> Run() { return ParseBody({}, 0); }

 private:
  // Statements up to the tag that is one of `ends`, which becomes the current token. With none: up
  // to the end of the template. `opened_line`: where what they belong to began.
  Result<Body> ParseBody(Names ends, int opened_line);
  // The same for the body of a block: from its tag's end on.
  Result<Body> ParseBlock(Names ends, int opened_line);
  // The same, and the end tag's name is passed too.
  Result<Body> ParseBlockAndEnd(std::string_view end, int opened_line);

  Result<StatementPtr> ParseStatement();
  Result<StatementPtr> ParseFor(int line);
  Result<StatementPtr> ParseIf(int line);
  Result<StatementPtr> ParseMacro(int line);
  Result<StatementPtr> ParseCall(int line);
  Result<StatementPtr> ParseGeneration(int line);
  Result<StatementPtr> ParseFilterBlock(int line);
  Result<StatementPtr> ParseWith(int line);
  Result<StatementPtr> ParseSet(int line);
  Result<StatementPtr> ParsePrint(int line);
  Result<StatementPtr> ParseAutoescape(int line);
  Result<StatementPtr> ParseUnavailable(int line, std::string name);
  Result<std::unique_ptr<MacroParameters>> ParseParameters();

  static StatementPtr Make(StatementKind kind, int line) {
    auto statement = std::make_unique<Statement>();
    statement->kind = kind;
    statement->line = line;
    return statement;
  }
  // Text and expressions in a row are one statement.
  static void AddOutput(ExpressionPtr expression, Body* body) {
    if (body->empty() || body->back()->kind != StatementKind::kOutput) {
      body->push_back(Make(StatementKind::kOutput, expression->line));
    }
    body->back()->expressions.push_back(std::move(expression));
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int block_depth_ = 0;
};

Result<Body> Parser::ParseBody(Names ends, int opened_line) {
  if (++block_depth_ > kMaxBlockDepth) {
    return tokens_.Wrong(tokens_.line(), "blocks are nested deeper than {} levels", kMaxBlockDepth);
  }
  Body body;
  while (!tokens_.Is(TokenKind::kEnd)) {
    if (tokens_.Is(TokenKind::kData)) {
      Token& token = tokens_.Next();
      auto text = std::make_unique<Expression>();
      text->kind = ExpressionKind::kConstant;
      text->line = token.line;
      text->constant = ConstantString(std::move(token.text));
      AddOutput(std::move(text), &body);
    } else if (tokens_.Is(TokenKind::kVariableBegin)) {
      tokens_.Next();
      WEFT_ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.ParseTuple());
      WEFT_RETURN_IF_ERROR(tokens_.ExpectVariableEnd());
      AddOutput(std::move(value), &body);
    } else {
      tokens_.Next();  // {%
      if (std::any_of(ends.begin(), ends.end(),
                      [&](std::string_view end) { return tokens_.IsName(end); })) {
        --block_depth_;
        return body;
      }
      WEFT_ASSIGN_OR_RETURN(StatementPtr statement, ParseStatement());
      if (statement != nullptr) body.push_back(std::move(statement));
      WEFT_RETURN_IF_ERROR(tokens_.ExpectBlockEnd());
    }
  }
  if (ends.size() > 0) {
    return tokens_.Wrong(tokens_.line(), "found the end of the template, expected '{}' for line {}",
                         *(ends.end() - 1), opened_line);
  }
  --block_depth_;
  return body;
}

Result<Body> Parser::ParseBlock(Names ends, int opened_line) {
  tokens_.TakeOperator(":");
  WEFT_RETURN_IF_ERROR(tokens_.ExpectBlockEnd());
  return ParseBody(ends, opened_line);
}

Result<Body> Parser::ParseBlockAndEnd(std::string_view end, int opened_line) {
  WEFT_ASSIGN_OR_RETURN(Body body, ParseBlock({end}, opened_line));
  tokens_.Next();
  return body;
}

Result<StatementPtr> Parser::ParseStatement() {
  const int line = tokens_.line();
  WEFT_ASSIGN_OR_RETURN(std::string name, tokens_.ExpectAnyName());
  if (name == "for") return ParseFor(line);
  if (name == "if") return ParseIf(line);
  if (name == "macro") return ParseMacro(line);
  if (name == "call") return ParseCall(line);
  if (name == "generation") return ParseGeneration(line);
  if (name == "filter") return ParseFilterBlock(line);
  if (name == "with") return ParseWith(line);
  if (name == "set") return ParseSet(line);
  if (name == "print") return ParsePrint(line);
  if (name == "break") return Make(StatementKind::kBreak, line);
  if (name == "continue") return Make(StatementKind::kContinue, line);
  if (name == "autoescape") return ParseAutoescape(line);
  if (name == "include" || name == "import" || name == "from" || name == "extends") {
    return ParseUnavailable(line, std::move(name));
  }
  return tokens_.Wrong(line, "unexpected tag {}", Quoted(name));
}

Result<StatementPtr> Parser::ParseFor(int line) {
  StatementPtr loop = Make(StatementKind::kFor, line);
  WEFT_ASSIGN_OR_RETURN(loop->target, expressions_.ParseTarget(false));
  WEFT_RETURN_IF_ERROR(tokens_.ExpectName("in"));
  WEFT_ASSIGN_OR_RETURN(loop->iterable, expressions_.ParseTuple(false));
  if (tokens_.TakeName("if")) {
    WEFT_ASSIGN_OR_RETURN(loop->filter, expressions_.Parse());
  }
  loop->recursive = tokens_.TakeName("recursive");
  WEFT_ASSIGN_OR_RETURN(loop->body, ParseBlock({"else", "endfor"}, line));
  if (tokens_.Next().text == "else") {
    WEFT_ASSIGN_OR_RETURN(loop->otherwise, ParseBlockAndEnd("endfor", line));
  }
  return loop;
}

Result<StatementPtr> Parser::ParseIf(int line) {
  StatementPtr statement = Make(StatementKind::kIf, line);
  while (true) {
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr condition, expressions_.ParseTuple(false));
    WEFT_ASSIGN_OR_RETURN(Body body, ParseBlock({"elif", "else", "endif"}, line));
    statement->branches.emplace_back(std::move(condition), std::move(body));
    const Token& end = tokens_.Next();
    if (end.text == "elif") continue;
    if (end.text == "else") {
      WEFT_ASSIGN_OR_RETURN(statement->otherwise, ParseBlockAndEnd("endif", line));
    }
    return statement;
  }
}

Result<std::unique_ptr<MacroParameters>> Parser::ParseParameters() {
  auto parameters = std::make_unique<MacroParameters>();
  WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator("("));
  while (!tokens_.IsOperator(")")) {
    if (!parameters->names.empty()) {
      WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    }
    const int line = tokens_.line();
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr name, expressions_.ParseTargetName());
    for (const ExpressionPtr& earlier : parameters->names) {
      if (earlier->text == name->text) {
        return tokens_.Wrong(line, "parameter {} given twice", Quoted(name->text));
      }
    }
    if (tokens_.TakeOperator("=")) {
      WEFT_ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.Parse());
      parameters->defaults.push_back(std::move(value));
    } else if (!parameters->defaults.empty()) {
      return tokens_.Wrong(line, "parameter {} has no default, but one before it has",
                           Quoted(name->text));
    }
    parameters->names.push_back(std::move(name));
  }
  tokens_.Next();
  return parameters;
}

Result<StatementPtr> Parser::ParseMacro(int line) {
  StatementPtr macro = Make(StatementKind::kMacro, line);
  WEFT_ASSIGN_OR_RETURN(const ExpressionPtr name, expressions_.ParseTargetName());
  macro->text = name->text;
  WEFT_ASSIGN_OR_RETURN(macro->parameters, ParseParameters());
  WEFT_ASSIGN_OR_RETURN(macro->body, ParseBlockAndEnd("endmacro", line));
  return macro;
}

Result<StatementPtr> Parser::ParseCall(int line) {
  StatementPtr statement = Make(StatementKind::kCall, line);
  if (tokens_.IsOperator("(")) {
    WEFT_ASSIGN_OR_RETURN(statement->parameters, ParseParameters());
  } else {
    statement->parameters = std::make_unique<MacroParameters>();
  }
  WEFT_ASSIGN_OR_RETURN(statement->call, expressions_.Parse());
  if (statement->call->kind != ExpressionKind::kCall) {
    return tokens_.Wrong(line, "found an expression after 'call', expected a call");
  }
  WEFT_ASSIGN_OR_RETURN(statement->body, ParseBlockAndEnd("endcall", line));
  return statement;
}

// transformers' extension: marks what the model said. Prints its body, as a call block does.
Result<StatementPtr> Parser::ParseGeneration(int line) {
  StatementPtr statement = Make(StatementKind::kCall, line);
  statement->parameters = std::make_unique<MacroParameters>();
  WEFT_ASSIGN_OR_RETURN(statement->body, ParseBlockAndEnd("endgeneration", line));
  return statement;
}

Result<StatementPtr> Parser::ParseFilterBlock(int line) {
  StatementPtr statement = Make(StatementKind::kFilterBlock, line);
  WEFT_ASSIGN_OR_RETURN(statement->filter, expressions_.ParseFilters(nullptr, true));
  WEFT_ASSIGN_OR_RETURN(statement->body, ParseBlockAndEnd("endfilter", line));
  return statement;
}

Result<StatementPtr> Parser::ParseWith(int line) {
  StatementPtr statement = Make(StatementKind::kWith, line);
  while (!tokens_.Is(TokenKind::kBlockEnd)) {
    if (!statement->targets.empty()) {
      WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    }
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr target, expressions_.ParseTarget(false));
    WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator("="));
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.Parse());
    statement->targets.push_back(std::move(target));
    statement->expressions.push_back(std::move(value));
  }
  WEFT_ASSIGN_OR_RETURN(statement->body, ParseBlockAndEnd("endwith", line));
  return statement;
}

Result<StatementPtr> Parser::ParseSet(int line) {
  WEFT_ASSIGN_OR_RETURN(ExpressionPtr target, expressions_.ParseTarget(true));
  if (tokens_.TakeOperator("=")) {
    StatementPtr statement = Make(StatementKind::kSet, line);
    statement->target = std::move(target);
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.ParseTuple());
    statement->expressions.push_back(std::move(value));
    return statement;
  }
  StatementPtr statement = Make(StatementKind::kSetBlock, line);
  statement->target = std::move(target);
  WEFT_ASSIGN_OR_RETURN(statement->filter, expressions_.ParseFilters(nullptr));
  WEFT_ASSIGN_OR_RETURN(statement->body, ParseBlockAndEnd("endset", line));
  return statement;
}

Result<StatementPtr> Parser::ParsePrint(int line) {
  StatementPtr statement = Make(StatementKind::kOutput, line);
  while (!tokens_.Is(TokenKind::kBlockEnd)) {
    if (!statement->expressions.empty()) {
      WEFT_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    }
    WEFT_ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.Parse());
    statement->expressions.push_back(std::move(value));
  }
  return statement;
}

Result<StatementPtr> Parser::ParseAutoescape(int line) {
  WEFT_ASSIGN_OR_RETURN(const ExpressionPtr value, expressions_.Parse());
  if (value->kind != ExpressionKind::kConstant || Truth(value->constant)) {
    return tokens_.Wrong(line, "'autoescape' can only be false: prompts are not HTML");
  }
  StatementPtr statement = Make(StatementKind::kScope, line);
  WEFT_ASSIGN_OR_RETURN(statement->body, ParseBlockAndEnd("endautoescape", line));
  return statement;
}

// There are no other templates, but only who comes here at rendering needs to hear of it.
Result<StatementPtr> Parser::ParseUnavailable(int line, std::string name) {
  StatementPtr statement = Make(StatementKind::kUnavailable, line);
  statement->text = std::move(name);
  while (!tokens_.Is(TokenKind::kBlockEnd) && !tokens_.Is(TokenKind::kEnd)) tokens_.Next();
  return statement;
}

}  // namespace

Result<Template> ParseTemplate(std::string_view source) {
  WEFT_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  Template result;
  WEFT_ASSIGN_OR_RETURN(result.body, Parser(std::move(tokens)).Run());
  WEFT_RETURN_IF_ERROR(ResolveVariables(&result));
  return result;
}

}  // namespace weft::jinja
