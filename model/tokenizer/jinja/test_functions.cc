// Jinja's tests: what can stand after `is`.
#include <algorithm>
#include <iterator>

#include "model/tokenizer/jinja/builtins.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {
namespace {

Result<Value> Answer(bool value) { return Value::Bool(value); }

template <Kind kKind>
Result<Value> IsKind(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(self.is(kKind));
}

template <Comparison kComparison>
Result<Value> Compares(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const bool holds, Compare(runtime, kComparison, self, arguments[0]));
  return Value::Bool(holds);
}

Result<Value> Remainder(Runtime& runtime, const Value& self, const Value& divisor) {
  return Operate(runtime, BinaryOperator::kModulo, self, divisor);
}

Result<Value> RemainderIs(Runtime& runtime, const Value& self, int64_t divisor, int64_t wanted) {
  WEFT_ASSIGN_OR_RETURN(const Value remainder, Remainder(runtime, self, Value::Int(divisor)));
  return Value::Bool(Equals(runtime, remainder, Value::Int(wanted)));
}

Result<Value> TestOdd(Runtime& runtime, const Value& self, const BoundArguments&) {
  return RemainderIs(runtime, self, 2, 1);
}
Result<Value> TestEven(Runtime& runtime, const Value& self, const BoundArguments&) {
  return RemainderIs(runtime, self, 2, 0);
}
Result<Value> TestDivisibleBy(Runtime& runtime, const Value& self,
                              const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const Value remainder, Remainder(runtime, self, arguments[0]));
  return Value::Bool(Equals(runtime, remainder, Value::Int(0)));
}
Result<Value> TestDefined(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(!self.is(Kind::kUndefined));
}
Result<Value> TestFilter(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(self.is_string() && FindFilter(self.text()) != nullptr);
}
Result<Value> TestTest(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(self.is_string() && FindTest(self.text()) != nullptr);
}
Result<Value> TestTrue(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(self.is(Kind::kBool) && self.as_bool());
}
Result<Value> TestFalse(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(self.is(Kind::kBool) && !self.as_bool());
}
Result<Value> TestInteger(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(self.is(Kind::kInt) || self.is(Kind::kBigInt));
}
Result<Value> TestNumber(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(self.is_number() || self.is(Kind::kBigInt));
}
Result<Value> TestSequence(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(self.is(Kind::kUndefined) || self.is_string() || self.is_sequence() ||
                self.is(Kind::kDict) || self.is(Kind::kRange));
}
Result<Value> TestIterable(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(IsIterable(self));
}
Result<Value> TestCallable(Runtime&, const Value& self, const BoundArguments&) {
  // Undefined has a __call__, which fails.
  return Answer(self.is(Kind::kUndefined) ||
                (self.is(Kind::kCallable) && self.callable().is_callable()));
}
Result<Value> TestEscaped(Runtime&, const Value& self, const BoundArguments&) {
  return Answer(self.is_string() && self.string().is_markup);
}
Result<Value> TestIn(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const bool contains, Contains(runtime, arguments[0], self));
  return Value::Bool(contains);
}
Result<Value> TestSameAs(Runtime&, const Value& self, const BoundArguments& arguments) {
  const Value& other = arguments[0];
  if (self.kind() != other.kind()) return Answer(false);
  switch (self.kind()) {
    case Kind::kNone:
      return Answer(true);
    case Kind::kBool:
    case Kind::kInt:  // of small ones Python has one each
      return Answer(self.as_int() == other.as_int());
    default:
      return Answer(self.object() != nullptr && self.object() == other.object());
  }
}

template <bool (*kWanted)(char32_t), bool (*kOther)(char32_t)>
Result<Value> TestCase(Runtime& runtime, const Value& self, const BoundArguments&) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, Str(runtime, self));
  if (!runtime.SpendBytes(text.size())) return runtime.Exceeded();
  bool any = false;
  bool all = true;
  ForEachCharacter(text, [&](char32_t c, std::string_view) {
    any = any || kWanted(c);
    all = all && !kOther(c) && !IsTitleCase(c);
  });
  return Answer(any && all);
}

constexpr Builtin kTests[] = {
    {"!=", Compares<Comparison::kNotEqual>, "other", 1},
    {"<", Compares<Comparison::kLess>, "other", 1},
    {"<=", Compares<Comparison::kLessEqual>, "other", 1},
    {"==", Compares<Comparison::kEqual>, "other", 1},
    {">", Compares<Comparison::kGreater>, "other", 1},
    {">=", Compares<Comparison::kGreaterEqual>, "other", 1},
    {"boolean", IsKind<Kind::kBool>},
    {"callable", TestCallable},
    {"defined", TestDefined},
    {"divisibleby", TestDivisibleBy, "num", 1},
    {"eq", Compares<Comparison::kEqual>, "other", 1},
    {"equalto", Compares<Comparison::kEqual>, "other", 1},
    {"escaped", TestEscaped},
    {"even", TestEven},
    {"false", TestFalse},
    {"filter", TestFilter},
    {"float", IsKind<Kind::kFloat>},
    {"ge", Compares<Comparison::kGreaterEqual>, "other", 1},
    {"greaterthan", Compares<Comparison::kGreater>, "other", 1},
    {"gt", Compares<Comparison::kGreater>, "other", 1},
    {"in", TestIn, "seq", 1},
    {"integer", TestInteger},
    {"iterable", TestIterable},
    {"le", Compares<Comparison::kLessEqual>, "other", 1},
    {"lessthan", Compares<Comparison::kLess>, "other", 1},
    {"lower", TestCase<IsLower, IsUpper>},
    {"lt", Compares<Comparison::kLess>, "other", 1},
    {"mapping", IsKind<Kind::kDict>},
    {"ne", Compares<Comparison::kNotEqual>, "other", 1},
    {"none", IsKind<Kind::kNone>},
    {"number", TestNumber},
    {"odd", TestOdd},
    {"sameas", TestSameAs, "other", 1},
    {"sequence", TestSequence},
    {"string", IsKind<Kind::kString>},
    {"test", TestTest},
    {"true", TestTrue},
    {"undefined", IsKind<Kind::kUndefined>},
    {"upper", TestCase<IsUpper, IsLower>},
};

}  // namespace

const Builtin* FindTest(std::string_view name) {
  const auto* const found =
      std::lower_bound(std::begin(kTests), std::end(kTests), name,
                       [](const Builtin& test, std::string_view n) { return test.name < n; });
  return found != std::end(kTests) && found->name == name ? found : nullptr;
}

}  // namespace weft::jinja
