// How many: tokens of a prompt, tokens of an answer, turns of a conversation.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "loadtest/plan/random.h"

namespace weft {

// No length of a plan is greater: room for any context, and sums of a few fit 32 bits.
inline constexpr int32_t kMaxLength = 10'000'000;

struct LengthDistribution {
  enum class Kind { kConstant, kUniform, kNormal, kLognormal };

  Kind kind = Kind::kConstant;
  double first = 0;   // the length; the least; the mean
  double second = 0;  // the greatest; the standard deviation
};

constexpr LengthDistribution ConstantLength(int32_t length) {
  return {.first = static_cast<double>(length)};
}

// "512"; "100-500" (uniform, both included); "normal:MEAN,DEVIATION" and
// "lognormal:MEAN,DEVIATION", both of the lengths themselves.
Result<LengthDistribution> ParseLengths(std::string_view text);

// Rounded to an integer, at least 1, at most kMaxLength.
int32_t DrawLength(const LengthDistribution& lengths, Random& random);

}  // namespace weft
