// Jinja's expressions: one function a level of precedence.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "model/tokenizer/jinja/ast.h"
#include "model/tokenizer/jinja/token_stream.h"

namespace weft::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream* tokens) : tokens_(*tokens) {}

  Result<ExpressionPtr> Parse(bool with_conditional = true);
  // An expression, or several parted by commas: a tuple.
  Result<ExpressionPtr> ParseTuple(bool with_conditional = true);
  // What can stand left of =: names, tuples of names and, if allowed, attributes of namespaces.
  Result<ExpressionPtr> ParseTarget(bool with_namespace);
  Result<ExpressionPtr> ParseTargetName();
  // The filters that follow; `inner` is what they apply to, or null. With `inline_first` the first
  // one comes without its |.
  Result<ExpressionPtr> ParseFilters(ExpressionPtr inner, bool inline_first = false);

 private:
  enum class TupleMode : uint8_t { kPlain, kParenthesised, kTarget, kNamespaceTarget };

  Result<ExpressionPtr> ParseTupleOf(TupleMode mode, bool with_conditional);
  bool AtTupleEnd() const;
  Result<ExpressionPtr> ParseConditional();
  Result<ExpressionPtr> ParseOr();
  Result<ExpressionPtr> ParseAnd();
  Result<ExpressionPtr> ParseNot();
  Result<ExpressionPtr> ParseCompare();
  Result<ExpressionPtr> ParseSum();
  Result<ExpressionPtr> ParseConcatenation();
  Result<ExpressionPtr> ParseProduct();
  Result<ExpressionPtr> ParsePower();
  Result<ExpressionPtr> ParseUnary(bool with_filters = true);
  Result<ExpressionPtr> ParsePrimary(bool with_namespace);
  Result<ExpressionPtr> ParseNameOrConstant(bool with_namespace);
  Result<ExpressionPtr> ParseString();
  Result<ExpressionPtr> ParseList();
  Result<ExpressionPtr> ParseDict();
  Result<ExpressionPtr> ParsePostfix(ExpressionPtr inner);
  Result<ExpressionPtr> ParseFiltersAndTests(ExpressionPtr inner);
  Result<ExpressionPtr> ParseAttribute(ExpressionPtr inner);
  Result<ExpressionPtr> ParseSubscript(ExpressionPtr inner);
  Result<ExpressionPtr> ParseSlice(ExpressionPtr inner, ExpressionPtr start, int line);
  Result<ExpressionPtr> ParseCall(ExpressionPtr inner);
  Result<ExpressionPtr> ParseTest(ExpressionPtr inner);
  Result<std::unique_ptr<Arguments>> ParseArguments();
  Result<void> ParseArgument(Arguments* arguments);
  Result<std::string> ParseDottedName();

  static ExpressionPtr Make(ExpressionKind kind, int line);
  static ExpressionPtr MakeConstant(Value value, int line);
  // Computes the depth, and refuses one that is too large.
  Result<ExpressionPtr> Finish(ExpressionPtr expression) const;
  Result<ExpressionPtr> FinishBinary(ExpressionKind kind, int line, ExpressionPtr left,
                                     ExpressionPtr right,
                                     BinaryOperator op = BinaryOperator::kAdd) const;

  TokenStream& tokens_;
  int nesting_ = 0;
};

}  // namespace weft::jinja
