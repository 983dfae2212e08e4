// The texts of JSON's numbers, by value.
#pragma once

#include <optional>

#include "base/result.h"
#include "grammar/regex/decimal.h"
#include "grammar/regex/regex.h"

namespace weft {

// Numbers that all of this holds for.
struct NumberSet {
  bool integer = false;  // 1.0 is one
  std::optional<Decimal> minimum = std::nullopt;
  std::optional<Decimal> maximum = std::nullopt;
  bool exclusive_minimum = false;  // greater than `minimum`
  bool exclusive_maximum = false;
  std::optional<Decimal> multiple_of = std::nullopt;  // by a whole number; above 0
};

// JSON's numbers without an exponent. The sets below that are of these have complements among them:
// And(PlainNumber, Not(...)).
RegexId PlainNumber(RegexArena* arena);
// All of JSON's numbers.
RegexId AnyNumber(RegexArena* arena);

// The texts of PlainNumber whose value is in the set: all of them, with any zeros behind the point,
// and -0 as 0. kInvalidArgument: `multiple_of` is not above 0; kUnsupported: a bound has more than
// 1000 digits, or multiples of so large or so long a number would be an automaton of more than
// 20,000 states.
Result<RegexId> NumberRegex(RegexArena* arena, const NumberSet& set);

// The texts of AnyNumber whose value is in the set, where the sign decides (bounds of 0 or none,
// nothing else); nullopt: more than the sign decides.
std::optional<RegexId> SignedNumberRegex(RegexArena* arena, const NumberSet& set);

}  // namespace weft
