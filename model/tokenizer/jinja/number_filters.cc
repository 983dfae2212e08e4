// Filters over numbers, and texts that are numbers.
#include <charconv>
#include <cmath>
#include <limits>

#include "base/ascii.h"
#include "base/quoted.h"
#include "model/tokenizer/jinja/filters.h"
#include "model/tokenizer/jinja/numbers.h"
#include "model/tokenizer/jinja/operators.h"

namespace weft::jinja {
namespace {

// The digits without single underscores between them; nothing if underscores stand elsewhere.
std::optional<std::string> WithoutUnderscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
      continue;
    }
    if (i == 0 || i + 1 == text.size() || !IsAsciiAlphanumeric(text[i - 1]) ||
        !IsAsciiAlphanumeric(text[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

// The base that a prefix such as 0x names, or 0.
int BaseOfPrefix(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  switch (text[1] | 0x20) {
    case 'b':
      return 2;
    case 'o':
      return 8;
    case 'x':
      return 16;
    default:
      return 0;
  }
}

Result<Value> IntegerOf(double value) {
  if (std::isnan(value)) return Fault("cannot convert float NaN to integer");
  if (std::isinf(value)) return Fault("cannot convert float infinity to integer");
  const double whole = std::trunc(value);
  if (whole < -0x1p63 || whole >= 0x1p63) {
    return Fault("the integer {} does not fit 64 bits", FloatText(whole));
  }
  return Value::Int(static_cast<int64_t>(whole));
}

// Rounds to `digits` after the point, exact ties to even, from the exact binary value.
double RoundDecimal(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  if (digits < -310) return std::copysign(0.0, value);
  if (digits >= 0) {
    const std::string text = fmt::format("{:.{}f}", value, static_cast<int>(digits));
    double rounded = 0;
    std::from_chars(text.data(), text.data() + text.size(), rounded);
    return rounded;
  }
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / unit) * unit;
}

Result<Value> RoundInteger(int64_t value, int64_t digits) {
  if (digits >= 0) return Value::Int(value);
  if (digits < -18) return Value::Int(0);
  int64_t unit = 1;
  for (int64_t i = digits; i < 0; ++i) unit *= 10;
  int64_t remainder = value % unit;
  if (remainder < 0) remainder += unit;
  int64_t rounded = value - remainder;
  const bool odd = (rounded / unit) % 2 != 0;
  if (remainder > unit / 2 || (remainder == unit / 2 && odd)) rounded += unit;
  return Value::Int(rounded);
}

}  // namespace

Result<std::optional<int64_t>> ParsePythonInt(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return Fault("int: base must be 0 or 2 to 36");
  text = Strip(text, Side::kBoth);
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const int prefix = BaseOfPrefix(text);
  if (prefix != 0 && (base == 0 || base == prefix)) {
    base = prefix;
    text.remove_prefix(2);
    if (!text.empty() && text[0] == '_') text.remove_prefix(1);
  } else if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' &&
        text.find_first_not_of("0_") != std::string_view::npos) {
      return std::nullopt;
    }
  }
  const auto digits = WithoutUnderscores(text);
  if (!digits || digits->empty() || (*digits)[0] == '-') return std::nullopt;
  uint64_t magnitude = 0;
  const char* const end = digits->data() + digits->size();
  const auto parsed = std::from_chars(digits->data(), end, magnitude, static_cast<int>(base));
  if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument) return std::nullopt;
  const uint64_t limit = uint64_t{1} << 63;
  if (parsed.ec != std::errc() || magnitude > limit || (magnitude == limit && !negative)) {
    return Fault("the integer {} does not fit 64 bits", Quoted(text));
  }
  return negative ? static_cast<int64_t>(0 - magnitude) : static_cast<int64_t>(magnitude);
}

std::optional<double> ParsePythonFloat(std::string_view text) {
  text = Strip(text, Side::kBoth);
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const std::string lower = ToLower(text);
  if (lower == "inf" || lower == "infinity") {
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  const auto digits = WithoutUnderscores(lower);
  if (!digits || digits->empty() ||
      digits->find_first_not_of("0123456789.e+-") != std::string::npos || (*digits)[0] == '-') {
    return std::nullopt;
  }
  double value = 0;
  const char* const end = digits->data() + digits->size();
  const auto parsed = std::from_chars(digits->data(), end, value);
  if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) {
    value = digits->find("e-") != std::string::npos ? 0.0 : std::numeric_limits<double>::infinity();
  }
  return negative ? -value : value;
}

Result<Value> FilterAbs(Runtime&, const Value& self, const BoundArguments&) {
  if (self.is(Kind::kUndefined)) return UndefinedFault(self);
  if (self.is(Kind::kFloat)) return Value::Float(std::fabs(self.as_float()));
  if (!self.is_integer()) return Fault("bad operand type for abs(): '{}'", TypeName(self));
  if (self.as_int() >= 0) return Value::Int(self.as_int());
  return Negate(self);
}

Result<Value> FilterFloat(Runtime&, const Value& self, const BoundArguments& arguments) {
  if (self.is(Kind::kUndefined)) return UndefinedFault(self);
  if (self.is_number()) return Value::Float(self.as_float());
  if (self.is_string()) {
    if (const auto parsed = ParsePythonFloat(self.text())) return Value::Float(*parsed);
  }
  return arguments.has(0) ? arguments[0] : Value::Float(0);
}

Result<Value> FilterInt(Runtime&, const Value& self, const BoundArguments& arguments) {
  if (self.is(Kind::kUndefined)) return UndefinedFault(self);
  const Value fallback = arguments.has(0) ? arguments[0] : Value::Int(0);
  if (self.is(Kind::kBigInt)) return self;
  if (self.is_integer()) return Value::Int(self.as_int());
  if (self.is(Kind::kFloat)) {
    if (std::isnan(self.as_float())) return fallback;
    return IntegerOf(self.as_float());
  }
  if (!self.is_string()) return fallback;
  int64_t base = 10;
  if (arguments.has(1)) {
    WEFT_ASSIGN_OR_RETURN(base, ToIndex(arguments[1], "int: base"));
  }
  WEFT_ASSIGN_OR_RETURN(const std::optional<int64_t> parsed, ParsePythonInt(self.text(), base));
  if (parsed) return Value::Int(*parsed);
  const auto number = ParsePythonFloat(self.text());
  if (!number || !std::isfinite(*number)) return fallback;
  return IntegerOf(*number);
}

Result<Value> FilterRound(Runtime&, const Value& self, const BoundArguments& arguments) {
  const std::string_view method =
      arguments.has(1) && arguments[1].is_string() ? arguments[1].text() : "common";
  if ((arguments.has(1) && !arguments[1].is_string()) ||
      (method != "common" && method != "ceil" && method != "floor")) {
    return Fault("round: method must be common, ceil or floor");
  }
  if (self.is(Kind::kUndefined)) return UndefinedFault(self);
  if (!self.is_number()) return Fault("round: expected a number, not '{}'", TypeName(self));
  int64_t digits = 0;
  if (arguments.has(0)) {
    WEFT_ASSIGN_OR_RETURN(digits, ToIndex(arguments[0], "round: precision"));
  }
  if (method == "common") {
    if (self.is_integer()) return RoundInteger(self.as_int(), digits);
    return Value::Float(RoundDecimal(self.as_float(), digits));
  }
  if (digits < -300 || digits > 300) return Fault("round: precision {} is out of range", digits);
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = self.as_float() * scale;
  if (!std::isfinite(scaled)) return Fault("cannot convert float {} to integer", FloatText(scaled));
  return Value::Float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<Value> FilterFileSize(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  static constexpr std::string_view kDecimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  static constexpr std::string_view kBinary[] = {"KiB", "MiB", "GiB", "TiB",
                                                 "PiB", "EiB", "ZiB", "YiB"};
  std::optional<double> size;
  if (self.is_number()) size = self.as_float();
  if (self.is_string()) size = ParsePythonFloat(self.text());
  if (!size) return Fault("filesizeformat: expected a number, not '{}'", TypeName(self));
  const bool binary = ArgumentTruth(arguments, 0);
  const double base = binary ? 1024 : 1000;
  if (*size == 1) return runtime.NewString("1 Byte");
  if (*size < base) {
    WEFT_ASSIGN_OR_RETURN(const Value whole, IntegerOf(*size));
    return runtime.NewString(fmt::format("{} Bytes", whole.as_int()));
  }
  double unit = base;
  for (int i = 0; i < 8; ++i) {
    unit *= base;
    if (*size < unit || i == 7) {
      return runtime.NewString(
          fmt::format("{:.1f} {}", base * *size / unit, binary ? kBinary[i] : kDecimal[i]));
    }
  }
  return Value();
}

}  // namespace weft::jinja
