#include "grammar/regex/decimal.h"

#include <algorithm>

#include "base/quoted.h"

namespace weft {
namespace {

std::strong_ordering CompareMagnitudes(const Decimal& a, const Decimal& b) {
  if (a.IsZero() || b.IsZero()) return !a.IsZero() <=> !b.IsZero();
  if (a.PointPosition() != b.PointPosition()) return a.PointPosition() <=> b.PointPosition();
  // Without trailing zeros the longer one is larger where the shorter one is its beginning.
  return a.digits <=> b.digits;
}

size_t CountDigits(std::string_view text) {
  const size_t length = text.find_first_not_of("0123456789");
  return std::min(length, text.size());
}

}  // namespace

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (negative != other.negative) return other.negative <=> negative;
  return negative ? CompareMagnitudes(other, *this) : CompareMagnitudes(*this, other);
}

Result<Decimal> ParseDecimal(std::string_view text) {
  const std::string_view whole = text;
  const auto wrong = [&] {
    return Fail(ErrorCode::kInvalidArgument, "{} is not a number of JSON", Quoted(whole));
  };
  Decimal number;
  if (text.starts_with('-')) {
    number.negative = true;
    text.remove_prefix(1);
  }
  const size_t integer = CountDigits(text);
  if (integer == 0 || (integer > 1 && text.front() == '0')) return wrong();
  number.digits = text.substr(0, integer);
  text.remove_prefix(integer);
  if (text.starts_with('.')) {
    const size_t fraction = CountDigits(text.substr(1));
    if (fraction == 0) return wrong();
    number.digits += text.substr(1, fraction);
    number.exponent = -static_cast<int64_t>(fraction);
    text.remove_prefix(1 + fraction);
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    const bool minus = text.starts_with('-');
    if (minus || text.starts_with('+')) text.remove_prefix(1);
    const size_t digits = CountDigits(text);
    if (digits == 0 || digits > 9) return wrong();
    int64_t exponent = 0;
    for (const char digit : text.substr(0, digits)) exponent = exponent * 10 + (digit - '0');
    number.exponent += minus ? -exponent : exponent;
    text.remove_prefix(digits);
  }
  if (!text.empty()) return wrong();
  number.digits.erase(0, std::min(number.digits.find_first_not_of('0'), number.digits.size()));
  while (number.digits.ends_with('0')) {
    number.digits.pop_back();
    ++number.exponent;
  }
  if (number.digits.empty()) number = Decimal();  // there is one zero
  return number;
}

}  // namespace weft
