// Numbers of JSON as they stand, for tests: nothing of the room's own decimals is in them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

class ExactNumber {
 public:
  // A number of JSON's grammar, with an exponent of four digits at most.
  explicit ExactNumber(std::string_view json);

  bool IsInteger() const { return exponent_ >= 0; }
  // `step` is above 0 and has 17 digits at most.
  bool IsMultipleOf(const ExactNumber& step) const;

  bool operator==(const ExactNumber&) const = default;
  std::strong_ordering operator<=>(const ExactNumber& other) const;

 private:
  // The magnitude in units of 10^exponent, which is not above the number's own.
  std::string DigitsAt(int64_t exponent) const;

  // digits * 10^exponent; the digits neither begin nor end with 0, those of 0 are none.
  bool is_negative_ = false;
  std::string digits_;
  int64_t exponent_ = 0;
};

}  // namespace weft
