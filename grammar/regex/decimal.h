// Numbers as JSON writes them, exactly.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// +-digits * 10^exponent, with neither leading nor trailing zeros in the digits: zero has none.
// Equal numbers are equal member by member.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;

  bool IsZero() const { return digits.empty(); }
  bool IsInteger() const { return exponent >= 0; }
  // Where the point is, as digits from the first one: 3 in 123.4, -1 in 0.01.
  int64_t PointPosition() const { return static_cast<int64_t>(digits.size()) + exponent; }

  bool operator==(const Decimal&) const = default;
  std::strong_ordering operator<=>(const Decimal& other) const;
};

// A number of JSON's grammar (RFC 8259); kInvalidArgument: it is none, or its exponent has more
// than nine digits.
Result<Decimal> ParseDecimal(std::string_view text);

}  // namespace weft
