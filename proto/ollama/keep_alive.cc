#include "proto/ollama/keep_alive.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/ascii.h"

namespace weft {
namespace {

// Longer ones before those that they begin with.
constexpr auto kUnits = std::to_array<std::pair<std::string_view, double>>({{"ns", 1e-9},
                                                                            {"us", 1e-6},
                                                                            {"\u00B5s", 1e-6},
                                                                            {"\u03BCs", 1e-6},
                                                                            {"ms", 1e-3},
                                                                            {"s", 1},
                                                                            {"m", 60},
                                                                            {"h", 3600}});

std::chrono::milliseconds Signed(double seconds, bool is_negative) {
  return KeepAliveOf(is_negative ? -seconds : seconds);
}

}  // namespace

std::chrono::milliseconds KeepAliveOf(double seconds) {
  constexpr double kMostSeconds = 100.0 * 366 * 86'400;
  if (seconds < 0) return std::chrono::milliseconds(-1);
  return std::chrono::milliseconds(static_cast<int64_t>(std::min(seconds, kMostSeconds) * 1000));
}

std::optional<std::chrono::milliseconds> ParseKeepAlive(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  for (bool is_first = true; !text.empty(); is_first = false) {
    if (!IsAsciiDigit(text.front()) && text.front() != '.') return std::nullopt;  // nor "inf"
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (is_first && text.empty()) return Signed(number, is_negative);
    const auto unit = std::ranges::find_if(
        kUnits, [&](const auto& each) { return text.starts_with(each.first); });
    if (unit == kUnits.end()) return std::nullopt;
    seconds += number * unit->second;
    text.remove_prefix(unit->first.size());
  }
  return Signed(seconds, is_negative);
}

}  // namespace weft
