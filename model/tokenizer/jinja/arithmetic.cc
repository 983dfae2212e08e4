// Python's numbers, as far as 64 bits go: integers beyond that are an error.
#include <cmath>

#include "model/tokenizer/jinja/format.h"
#include "model/tokenizer/jinja/operators.h"

namespace weft::jinja {
namespace {

constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};

tl::unexpected<Error> TooBig() {
  return Fault("the integer result does not fit 64 bits, which is all that Weft's templates have");
}

tl::unexpected<Error> Unsupported(BinaryOperator op, const Value& a, const Value& b) {
  return Fault("unsupported operand types for {}: '{}' and '{}'", kSymbols[static_cast<int>(op)],
               TypeName(a), TypeName(b));
}

Result<Value> PowerOfIntegers(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return Fault("0 cannot be raised to a negative power");
    return Value::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return TooBig();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return TooBig();
  }
  return Value::Int(result);
}

// Floor division and the remainder that goes with it, of which the sign is the divisor's.
struct Division {
  int64_t quotient, remainder;
};
std::optional<Division> Divide(int64_t a, int64_t b) {
  if (b == -1) {
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) return std::nullopt;
    return Division{negated, 0};
  }
  Division result{a / b, a % b};
  if (result.remainder != 0 && (result.remainder < 0) != (b < 0)) {
    --result.quotient;
    result.remainder += b;
  }
  return result;
}

struct FloatDivision {
  double quotient, remainder;
};
FloatDivision Divide(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      quotient -= 1;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  double floor = std::floor(quotient);
  if (quotient - floor > 0.5) floor += 1;
  return {floor, remainder};
}

Result<Value> OperateIntegers(BinaryOperator op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case BinaryOperator::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return TooBig();
      return Value::Int(result);
    case BinaryOperator::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return TooBig();
      return Value::Int(result);
    case BinaryOperator::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return TooBig();
      return Value::Int(result);
    case BinaryOperator::kPower:
      return PowerOfIntegers(a, b);
    default:
      break;
  }
  if (b == 0) return Fault("division by zero");
  if (op == BinaryOperator::kDivide) {
    return Value::Float(
        static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
  }
  if (op == BinaryOperator::kModulo && b == -1) return Value::Int(0);
  const auto division = Divide(a, b);
  if (!division) return TooBig();
  return Value::Int(op == BinaryOperator::kModulo ? division->remainder : division->quotient);
}

Result<Value> OperateFloats(BinaryOperator op, double a, double b) {
  switch (op) {
    case BinaryOperator::kAdd:
      return Value::Float(a + b);
    case BinaryOperator::kSubtract:
      return Value::Float(a - b);
    case BinaryOperator::kMultiply:
      return Value::Float(a * b);
    case BinaryOperator::kPower: {
      if (a == 0 && b < 0) return Fault("0.0 cannot be raised to a negative power");
      const double result = std::pow(a, b);
      if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) {
        return Fault("a negative number raised to a fraction is a complex number");
      }
      if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
        return Fault("the result of ** is too large for a float");
      }
      return Value::Float(result);
    }
    default:
      break;
  }
  if (b == 0) return Fault("float division by zero");
  if (op == BinaryOperator::kDivide) return Value::Float(a / b);
  const FloatDivision division = Divide(a, b);
  return Value::Float(op == BinaryOperator::kModulo ? division.remainder : division.quotient);
}

Result<Value> Concatenate(Runtime& runtime, const Value& a, const Value& b) {
  const bool markup = a.string().is_markup || b.string().is_markup;
  std::string escaped[2];
  std::string_view parts[2] = {a.text(), b.text()};
  if (a.string().is_markup != b.string().is_markup) {
    const int plain = a.string().is_markup ? 1 : 0;
    escaped[plain] = EscapeHtml(parts[plain]);
    parts[plain] = escaped[plain];
  }
  const uint64_t size_bytes = uint64_t{parts[0].size()} + parts[1].size();
  if (!runtime.budget().FitsString(size_bytes) || !runtime.SpendBytes(size_bytes)) {
    return runtime.Exceeded();
  }
  std::string text;
  text.reserve(size_bytes);
  text.append(parts[0]).append(parts[1]);
  return runtime.NewText(std::move(text), markup);
}

Result<Value> Repeat(Runtime& runtime, const Value& value, int64_t times) {
  if (times < 0) times = 0;
  if (value.is_string()) {
    uint64_t size_bytes = 0;
    if (__builtin_mul_overflow(uint64_t{value.text().size()}, static_cast<uint64_t>(times),
                               &size_bytes) ||
        !runtime.budget().FitsString(size_bytes) || !runtime.SpendBytes(size_bytes)) {
      runtime.budget().FitsString(~uint64_t{0} >> 1);
      return runtime.Exceeded();
    }
    std::string text;
    text.reserve(size_bytes);
    for (int64_t i = 0; i < times && size_bytes > 0; ++i) text.append(value.text());
    return runtime.NewText(std::move(text), value.string().is_markup);
  }
  const auto& items = value.items();
  uint64_t item_count = 0;
  if (__builtin_mul_overflow(uint64_t{items.size()}, static_cast<uint64_t>(times), &item_count) ||
      !runtime.budget().FitsItems(item_count) || !runtime.Spend(static_cast<int64_t>(item_count))) {
    runtime.budget().FitsItems(uint64_t{1} << 32);
    return runtime.Exceeded();
  }
  std::vector<Value> repeated;
  repeated.reserve(item_count);
  for (int64_t i = 0; i < times && item_count > 0; ++i) {
    repeated.insert(repeated.end(), items.begin(), items.end());
  }
  return value.is(Kind::kList) ? runtime.NewList(std::move(repeated))
                               : runtime.NewTuple(std::move(repeated));
}

Result<Value> JoinSequences(Runtime& runtime, const Value& a, const Value& b) {
  const uint64_t item_count = uint64_t{a.items().size()} + b.items().size();
  if (!runtime.budget().FitsItems(item_count) || !runtime.Spend(static_cast<int64_t>(item_count))) {
    return runtime.Exceeded();
  }
  std::vector<Value> items;
  items.reserve(item_count);
  items.insert(items.end(), a.items().begin(), a.items().end());
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is(Kind::kList) ? runtime.NewList(std::move(items)) : runtime.NewTuple(std::move(items));
}

}  // namespace

Result<Value> Operate(Runtime& runtime, BinaryOperator op, const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return OperateIntegers(op, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return OperateFloats(op, a.as_float(), b.as_float());
  if (op == BinaryOperator::kModulo && a.is_string()) return PercentFormat(runtime, a, b);
  if (a.is(Kind::kUndefined)) return UndefinedFault(a);
  if (b.is(Kind::kUndefined)) return UndefinedFault(b);
  if (op == BinaryOperator::kAdd) {
    if (a.is_string() && b.is_string()) return Concatenate(runtime, a, b);
    if (a.is_sequence() && a.kind() == b.kind()) return JoinSequences(runtime, a, b);
    if (a.is_string() || (a.is_sequence() && !b.is_number())) {
      return Fault("can only concatenate {} (not \"{}\") to {}", TypeName(a), TypeName(b),
                   TypeName(a));
    }
  }
  if (op == BinaryOperator::kMultiply) {
    if ((a.is_string() || a.is_sequence()) && b.is_integer()) {
      return Repeat(runtime, a, b.as_int());
    }
    if ((b.is_string() || b.is_sequence()) && a.is_integer()) {
      return Repeat(runtime, b, a.as_int());
    }
  }
  return Unsupported(op, a, b);
}

Result<Value> Negate(const Value& value) {
  if (value.is(Kind::kUndefined)) return UndefinedFault(value);
  if (value.is(Kind::kFloat)) return Value::Float(-value.as_float());
  if (!value.is_integer()) return Fault("bad operand type for unary -: '{}'", TypeName(value));
  int64_t result = 0;
  if (__builtin_sub_overflow(int64_t{0}, value.as_int(), &result)) return TooBig();
  return Value::Int(result);
}

Result<Value> Plus(const Value& value) {
  if (value.is(Kind::kUndefined)) return UndefinedFault(value);
  if (value.is(Kind::kFloat)) return value;
  if (!value.is_integer()) return Fault("bad operand type for unary +: '{}'", TypeName(value));
  return Value::Int(value.as_int());
}

}  // namespace weft::jinja
