// The interpreter's expressions.
#include <algorithm>

#include "base/quoted.h"
#include "model/tokenizer/jinja/interpreter.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {
namespace {

Result<bool> Holds(Runtime& runtime, CompareOperator op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOperator::kEqual:
      return Compare(runtime, Comparison::kEqual, a, b);
    case CompareOperator::kNotEqual:
      return Compare(runtime, Comparison::kNotEqual, a, b);
    case CompareOperator::kLess:
      return Compare(runtime, Comparison::kLess, a, b);
    case CompareOperator::kLessEqual:
      return Compare(runtime, Comparison::kLessEqual, a, b);
    case CompareOperator::kGreater:
      return Compare(runtime, Comparison::kGreater, a, b);
    case CompareOperator::kGreaterEqual:
      return Compare(runtime, Comparison::kGreaterEqual, a, b);
    case CompareOperator::kIn:
      return Contains(runtime, b, a);
    case CompareOperator::kNotIn: {
      WEFT_ASSIGN_OR_RETURN(const bool contains, Contains(runtime, b, a));
      return !contains;
    }
  }
  return false;
}

}  // namespace

Result<Value> Interpreter::Evaluate(const Expression& expression, Activation& activation) {
  switch (expression.kind) {
    case ExpressionKind::kConstant:
      return expression.constant;
    case ExpressionKind::kName: {
      const Value& value = activation.At(expression.slot);
      if (!value.is(Kind::kMissing)) return value;
      return MakeUndefined(fmt::format("{} is undefined", Quoted(expression.text)));
    }
    default:
      break;
  }
  const DepthGuard guard(runtime_);
  if (!guard.ok() || !runtime_.Spend(1)) return runtime_.Exceeded();
  return EvaluateOperation(expression, activation);
}

Result<Value> Interpreter::EvaluateOptional(const ExpressionPtr& expression,
                                            Activation& activation) {
  if (expression == nullptr) return Value::None();
  return Evaluate(*expression, activation);
}

Result<Value> Interpreter::EvaluateOperation(const Expression& expression, Activation& activation) {
  switch (expression.kind) {
    case ExpressionKind::kAttribute: {
      WEFT_ASSIGN_OR_RETURN(const Value object, Evaluate(*expression.operands[0], activation));
      line_ = expression.line;
      return GetAttribute(runtime_, object, expression.constant);
    }
    case ExpressionKind::kItem: {
      WEFT_ASSIGN_OR_RETURN(const Value container, Evaluate(*expression.operands[0], activation));
      WEFT_ASSIGN_OR_RETURN(const Value key, Evaluate(*expression.operands[1], activation));
      line_ = expression.line;
      return GetItem(runtime_, container, key);
    }
    case ExpressionKind::kSlice:
      return EvaluateSlice(expression, activation);
    case ExpressionKind::kCall:
      return EvaluateCall(expression, activation);
    case ExpressionKind::kFilter:
      return EvaluateFilter(expression, activation);
    case ExpressionKind::kTest:
      return EvaluateTest(expression, activation);
    case ExpressionKind::kTuple: {
      WEFT_ASSIGN_OR_RETURN(std::vector<Value> items, EvaluateItems(expression, activation));
      return runtime_.NewTuple(std::move(items));
    }
    case ExpressionKind::kList: {
      WEFT_ASSIGN_OR_RETURN(std::vector<Value> items, EvaluateItems(expression, activation));
      return runtime_.NewList(std::move(items));
    }
    case ExpressionKind::kDict:
      return EvaluateDict(expression, activation);
    case ExpressionKind::kConcatenate:
      return EvaluateConcatenation(expression, activation);
    case ExpressionKind::kCompare:
      return EvaluateCompare(expression, activation);
    case ExpressionKind::kConditional:
      return EvaluateConditional(expression, activation);
    default:
      return EvaluateBinary(expression, activation);
  }
}

// Operators of one or two operands.
Result<Value> Interpreter::EvaluateBinary(const Expression& expression, Activation& activation) {
  WEFT_ASSIGN_OR_RETURN(Value left, Evaluate(*expression.operands[0], activation));
  switch (expression.kind) {
    case ExpressionKind::kAnd:
      if (!Truth(left)) return left;
      return Evaluate(*expression.operands[1], activation);
    case ExpressionKind::kOr:
      if (Truth(left)) return left;
      return Evaluate(*expression.operands[1], activation);
    case ExpressionKind::kNot:
      return Value::Bool(!Truth(left));
    case ExpressionKind::kNegate:
      line_ = expression.line;
      return Negate(left);
    case ExpressionKind::kPlus:
      line_ = expression.line;
      return Plus(left);
    default: {
      WEFT_ASSIGN_OR_RETURN(const Value right, Evaluate(*expression.operands[1], activation));
      line_ = expression.line;
      return Operate(runtime_, expression.binary, left, right);
    }
  }
}

Result<Value> Interpreter::EvaluateCompare(const Expression& expression, Activation& activation) {
  WEFT_ASSIGN_OR_RETURN(Value left, Evaluate(*expression.operands[0], activation));
  for (size_t i = 0; i < expression.comparisons.size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(Value right, Evaluate(*expression.operands[i + 1], activation));
    line_ = expression.line;
    WEFT_ASSIGN_OR_RETURN(const bool holds,
                          Holds(runtime_, expression.comparisons[i], left, right));
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Result<Value> Interpreter::EvaluateConcatenation(const Expression& expression,
                                                 Activation& activation) {
  std::string text;
  for (const ExpressionPtr& operand : expression.operands) {
    WEFT_ASSIGN_OR_RETURN(const Value value, Evaluate(*operand, activation));
    line_ = expression.line;
    WEFT_RETURN_IF_ERROR(AppendStr(runtime_, value, &text));
  }
  return runtime_.NewString(std::move(text));
}

Result<Value> Interpreter::EvaluateConditional(const Expression& expression,
                                               Activation& activation) {
  WEFT_ASSIGN_OR_RETURN(const Value condition, Evaluate(*expression.operands[0], activation));
  if (Truth(condition)) return Evaluate(*expression.operands[1], activation);
  if (expression.operands[2] != nullptr) return Evaluate(*expression.operands[2], activation);
  return MakeUndefined(
      fmt::format("the inline if-expression on line {} evaluated to false and no else section "
                  "was defined.",
                  expression.line));
}

Result<Value> Interpreter::EvaluateSlice(const Expression& expression, Activation& activation) {
  WEFT_ASSIGN_OR_RETURN(const Value container, Evaluate(*expression.operands[0], activation));
  WEFT_ASSIGN_OR_RETURN(const Value start, EvaluateOptional(expression.operands[1], activation));
  WEFT_ASSIGN_OR_RETURN(const Value stop, EvaluateOptional(expression.operands[2], activation));
  WEFT_ASSIGN_OR_RETURN(const Value step, EvaluateOptional(expression.operands[3], activation));
  line_ = expression.line;
  return GetSlice(runtime_, container, start, stop, step);
}

Result<std::vector<Value>> Interpreter::EvaluateItems(const Expression& expression,
                                                      Activation& activation) {
  std::vector<Value> items;
  items.reserve(expression.operands.size());
  for (const ExpressionPtr& operand : expression.operands) {
    WEFT_ASSIGN_OR_RETURN(Value item, Evaluate(*operand, activation));
    items.push_back(std::move(item));
  }
  return items;
}

Result<Value> Interpreter::EvaluateDict(const Expression& expression, Activation& activation) {
  std::vector<DictObject::Entry> entries;
  entries.reserve(expression.operands.size() / 2);
  for (size_t i = 0; i + 1 < expression.operands.size(); i += 2) {
    WEFT_ASSIGN_OR_RETURN(Value key, Evaluate(*expression.operands[i], activation));
    WEFT_ASSIGN_OR_RETURN(Value value, Evaluate(*expression.operands[i + 1], activation));
    if (!IsHashable(key)) {
      line_ = expression.line;
      return Fault("unhashable type: '{}'", TypeName(key));
    }
    entries.emplace_back(std::move(key), std::move(value));
  }
  return runtime_.NewDict(std::move(entries));
}

Result<CallArguments> Interpreter::EvaluateArguments(const Arguments& arguments,
                                                     Activation& activation) {
  CallArguments result;
  result.positional.reserve(arguments.positional.size());
  for (const ExpressionPtr& argument : arguments.positional) {
    WEFT_ASSIGN_OR_RETURN(Value value, Evaluate(*argument, activation));
    result.positional.push_back(std::move(value));
  }
  for (const auto& [name, argument] : arguments.keyword) {
    WEFT_ASSIGN_OR_RETURN(Value value, Evaluate(*argument, activation));
    result.keyword.emplace_back(name, std::move(value));
  }
  if (arguments.more_positional != nullptr || arguments.more_keyword != nullptr) {
    WEFT_RETURN_IF_ERROR(AddMoreArguments(arguments, activation, &result));
  }
  return result;
}

Result<void> Interpreter::AddMoreArguments(const Arguments& arguments, Activation& activation,
                                           CallArguments* result) {
  if (arguments.more_positional != nullptr) {
    WEFT_ASSIGN_OR_RETURN(const Value more, Evaluate(*arguments.more_positional, activation));
    WEFT_ASSIGN_OR_RETURN(const std::vector<Value> items, Collect(runtime_, more));
    result->positional.insert(result->positional.end(), items.begin(), items.end());
  }
  if (arguments.more_keyword == nullptr) return {};
  WEFT_ASSIGN_OR_RETURN(const Value more, Evaluate(*arguments.more_keyword, activation));
  if (!more.is(Kind::kDict))
    return Fault("argument after ** must be a dict, not '{}'", TypeName(more));
  for (const auto& entry : more.dict().entries) {
    const Value& key = entry.first;
    if (!key.is_string()) return Fault("keywords must be strings, not '{}'", TypeName(key));
    const bool given = std::any_of(result->keyword.begin(), result->keyword.end(),
                                   [&](const auto& k) { return k.first == key.text(); });
    if (given) return Fault("argument {} given twice", Quoted(key.text()));
    result->keyword.emplace_back(std::string(key.text()), entry.second);
  }
  return {};
}

Result<Value> Interpreter::EvaluateCall(const Expression& call, Activation& activation,
                                        const Value* caller) {
  const Expression& callee = *call.operands[0];
  // A method is called without making a value of it.
  const Builtin* method = nullptr;
  Value target;
  if (callee.kind == ExpressionKind::kAttribute) {
    WEFT_ASSIGN_OR_RETURN(Value object, Evaluate(*callee.operands[0], activation));
    line_ = callee.line;
    method = FindMethod(object.kind(), callee.text);
    if (method != nullptr) {
      target = std::move(object);
    } else {
      WEFT_ASSIGN_OR_RETURN(target, GetAttribute(runtime_, object, callee.constant));
    }
  } else {
    WEFT_ASSIGN_OR_RETURN(target, Evaluate(callee, activation));
  }
  WEFT_ASSIGN_OR_RETURN(CallArguments arguments, EvaluateArguments(*call.arguments, activation));
  if (caller != nullptr) arguments.keyword.emplace_back("caller", *caller);
  line_ = call.line;
  if (method != nullptr) return Invoke(runtime_, *method, target, std::move(arguments));
  return CallValue(runtime_, target, std::move(arguments));
}

Result<Value> Interpreter::EvaluateFilter(const Expression& filter, Activation& activation) {
  Value input = block_text_;
  if (filter.operands[0] != nullptr) {
    WEFT_ASSIGN_OR_RETURN(input, Evaluate(*filter.operands[0], activation));
  }
  WEFT_ASSIGN_OR_RETURN(CallArguments arguments, EvaluateArguments(*filter.arguments, activation));
  line_ = filter.line;
  if (filter.builtin == nullptr) return Fault("there is no filter named {}", Quoted(filter.text));
  return Invoke(runtime_, *filter.builtin, input, std::move(arguments));
}

Result<Value> Interpreter::EvaluateTest(const Expression& test, Activation& activation) {
  WEFT_ASSIGN_OR_RETURN(const Value input, Evaluate(*test.operands[0], activation));
  WEFT_ASSIGN_OR_RETURN(CallArguments arguments, EvaluateArguments(*test.arguments, activation));
  line_ = test.line;
  if (test.builtin == nullptr) return Fault("there is no test named {}", Quoted(test.text));
  return Invoke(runtime_, *test.builtin, input, std::move(arguments));
}

}  // namespace weft::jinja
