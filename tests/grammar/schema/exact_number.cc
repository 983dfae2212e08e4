#include "tests/grammar/schema/exact_number.h"

#include <algorithm>

namespace weft {

ExactNumber::ExactNumber(std::string_view json) : is_negative_(json.starts_with('-')) {
  const size_t mantissa = std::min(json.find_first_of("eE"), json.size());
  if (mantissa < json.size()) exponent_ = std::stoi(std::string(json.substr(mantissa + 1)));
  bool is_fraction = false;
  for (const char byte : json.substr(0, mantissa)) {
    if (byte == '.') is_fraction = true;
    if (byte < '0' || byte > '9') continue;
    digits_.push_back(byte);
    if (is_fraction) --exponent_;
  }
  digits_.erase(0, std::min(digits_.find_first_not_of('0'), digits_.size()));
  for (; digits_.ends_with('0'); ++exponent_) digits_.pop_back();
  if (!digits_.empty()) return;
  is_negative_ = false;
  exponent_ = 0;
}

std::string ExactNumber::DigitsAt(int64_t exponent) const {
  return digits_.empty() ? ""
                         : digits_ + std::string(static_cast<size_t>(exponent_ - exponent), '0');
}

std::strong_ordering ExactNumber::operator<=>(const ExactNumber& other) const {
  if (is_negative_ != other.is_negative_) return other.is_negative_ <=> is_negative_;
  const int64_t exponent = std::min(exponent_, other.exponent_);
  const std::string digits = DigitsAt(exponent);
  const std::string others = other.DigitsAt(exponent);
  const std::strong_ordering magnitudes =
      digits.size() != others.size() ? digits.size() <=> others.size() : digits <=> others;
  return is_negative_ ? 0 <=> magnitudes : magnitudes;
}

bool ExactNumber::IsMultipleOf(const ExactNumber& step) const {
  if (digits_.empty()) return true;
  if (exponent_ < step.exponent_) return false;  // its last digit is none of a multiple's
  const uint64_t divisor = std::stoull(step.digits_);
  uint64_t remainder = 0;
  for (const char digit : DigitsAt(step.exponent_)) {
    remainder = (remainder * 10 + static_cast<uint64_t>(digit - '0')) % divisor;
  }
  return remainder == 0;
}

}  // namespace weft
