#include "loadtest/plan/durations.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/quoted.h"

namespace weft {
namespace {

constexpr auto kUnits = std::to_array<std::pair<std::string_view, double>>(
    {{"", 1}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}});
constexpr double kMaxDurationSeconds = 3.6e6;

}  // namespace

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const std::string_view suffix(rest, static_cast<size_t>(end - rest));
  for (const auto& [unit, seconds] : kUnits) {
    if (error != std::errc() || suffix != unit) continue;
    if (value >= 0 && value * seconds <= kMaxDurationSeconds) {
      return std::chrono::nanoseconds(std::llround(value * seconds * 1e9));
    }
    return Fail(ErrorCode::kInvalidArgument, "{} is not between 0 and 1000h", Quoted(text));
  }
  return Fail(ErrorCode::kInvalidArgument,
              "{} is not a time: expected a number of seconds, or one with a unit, as 250ms, 30s, "
              "5m or 1h",
              Quoted(text));
}

}  // namespace weft
