#include <algorithm>
#include <optional>

#include "base/quoted.h"
#include "loadtest/plan/lengths.h"
#include "loadtest/plan/numbers.h"
#include "loadtest/plan/trace.h"

namespace weft {
namespace {

// "Y-M-D h:m:s", each a number of the digits that its letters have: the value of field `begin`.
std::optional<int32_t> DigitsAt(std::string_view text, size_t begin, size_t count) {
  const std::string_view digits = text.substr(begin, count);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return ParseWhole<int32_t>(digits);
}

// ".6805900": at most nine digits behind the point; or nothing.
std::optional<std::chrono::nanoseconds> ParseFraction(std::string_view text) {
  constexpr size_t kDigits = 9;
  if (text.empty()) return std::chrono::nanoseconds(0);
  if (text[0] != '.' || text.size() < 2 || text.size() > kDigits + 1) return std::nullopt;
  std::optional<int32_t> value = DigitsAt(text, 1, text.size() - 1);
  for (size_t i = text.size() - 1; value && i < kDigits; ++i) *value *= 10;
  if (!value) return std::nullopt;
  return std::chrono::nanoseconds(*value);
}

std::optional<std::chrono::nanoseconds> ParseTimestamp(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd";
  if (text.ends_with("+00:00")) text.remove_suffix(6);
  if (text.size() < kShape.size()) return std::nullopt;
  for (size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] != 'd' && text[i] != kShape[i]) return std::nullopt;
  }
  const auto year = DigitsAt(text, 0, 4);
  const auto month = DigitsAt(text, 5, 2);
  const auto day = DigitsAt(text, 8, 2);
  const auto hour = DigitsAt(text, 11, 2);
  const auto minute = DigitsAt(text, 14, 2);
  const auto second = DigitsAt(text, 17, 2);
  const auto fraction = ParseFraction(text.substr(kShape.size()));
  if (!year || !month || !day || !hour || !minute || !second || !fraction) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  // Nanoseconds since 1970 fit 64 bits until 2262.
  if (!date.ok() || *year < 1970 || *year > 2200 || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second) + *fraction;
}

}  // namespace

Result<TraceRequest> ParseAzureLine(std::string_view line) {
  const size_t first = line.find(',');
  const size_t second = first == std::string_view::npos ? first : line.find(',', first + 1);
  if (second == std::string_view::npos) {
    return Fail(ErrorCode::kCorrupt, "expected TIMESTAMP,ContextTokens,GeneratedTokens, found {}",
                Quoted(line));
  }
  const auto time = ParseTimestamp(line.substr(0, first));
  const auto input = ParseWhole<int32_t>(line.substr(first + 1, second - first - 1));
  const auto output = ParseWhole<int32_t>(line.substr(second + 1));
  if (!time) {
    return Fail(ErrorCode::kCorrupt,
                "TIMESTAMP: expected a time like 2023-11-16 18:15:46.6805900, found {}",
                Quoted(line.substr(0, first)));
  }
  if (!input || *input < 1 || *input > kMaxLength) {
    return Fail(ErrorCode::kCorrupt, "ContextTokens: expected an integer from 1 to {}, found {}",
                kMaxLength, Quoted(line.substr(first + 1, second - first - 1)));
  }
  if (!output || *output < 0 || *output > kMaxLength) {
    return Fail(ErrorCode::kCorrupt, "GeneratedTokens: expected an integer from 0 to {}, found {}",
                kMaxLength, Quoted(line.substr(second + 1)));
  }
  return TraceRequest{*time, *input, *output, {}};
}

}  // namespace weft
