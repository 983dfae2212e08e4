#include "loadtest/report/format.h"

#include <cmath>
#include <ctime>

#include <fmt/format.h>

namespace weft {
namespace {

// Digits after the point, for three that count.
int Decimals(double value) {
  const double size = std::abs(value);
  if (size >= 99.95 || size == 0) return 0;
  if (size >= 9.995) return 1;
  if (size >= 0.9995) return 2;
  return size >= 0.09995 ? 3 : 4;
}

std::string ObjectiveValue(const Objective& objective, double value) {
  return objective.metric ? FormatDuration(value) : FormatPercent(value);
}

}  // namespace

std::string Printable(std::string_view text, size_t most_bytes) {
  std::string line;
  for (const char c : text.substr(0, most_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  return text.size() > most_bytes ? line + "..." : line;
}

std::string FormatCount(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string FormatNumber(double value) {
  const int decimals = Decimals(value);
  if (decimals == 0 && std::abs(value) < 1e15) return FormatCount(std::llround(value));
  return fmt::format("{:.{}f}", value, decimals);
}

std::string FormatDuration(double milliseconds) {
  const double size = std::abs(milliseconds);
  if (size == 0) return "0 ms";
  if (size < 0.9995) return FormatNumber(milliseconds * 1000) + " us";
  if (size < 999.5) return FormatNumber(milliseconds) + " ms";
  return FormatNumber(milliseconds / 1000) + " s";
}

std::string FormatMilliseconds(double milliseconds) {
  const int decimals = milliseconds < 99.995 ? 2 : milliseconds < 9999.5 ? 1 : 0;
  return fmt::format("{:.{}f}", milliseconds, decimals);
}

std::string FormatPercent(double share) {
  std::string text = fmt::format("{:.2f}", share * 100);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + "%";
}

std::string FormatDate(std::chrono::system_clock::time_point date) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(date);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string FormatMeasured(const ObjectiveResult& result) {
  return result.measured ? ObjectiveValue(result.objective, *result.measured) : "no sample";
}

std::string FormatLimit(const Objective& objective) {
  return ObjectiveValue(objective, objective.limit);
}

std::string DescribeObjective(const ObjectiveResult& result) {
  return fmt::format("{} {}, at most {}", result.objective.name, FormatMeasured(result),
                     FormatLimit(result.objective));
}

std::string DescribeTokens(const GroupSummary& figures) {
  std::string text;
  if (figures.prompt_tokens) text += FormatCount(*figures.prompt_tokens) + " in";
  if (figures.cached_tokens) {
    text += fmt::format(" ({} of them cached)", FormatCount(*figures.cached_tokens));
  }
  if (figures.texts > 0) {
    return text + fmt::format("{}{} texts", text.empty() ? "" : " of ", FormatCount(figures.texts));
  }
  if (!text.empty()) text += ", ";
  return text + FormatCount(figures.output_tokens) + " out";
}

std::string DescribeClient(const ClientHealth& client) {
  std::string text = FormatPercent(client.cpu_share) + " of a core";
  if (client.cpu_us_per_request > 0) {
    text += fmt::format(", {} a request", FormatDuration(client.cpu_us_per_request / 1000));
  }
  if (client.cpu_us_per_token > 0) {
    text += fmt::format(", {} a token", FormatDuration(client.cpu_us_per_token / 1000));
  }
  const auto add = [&text](const char* what, const ClientLag& lag) {
    if (lag.sample_count == 0) return;
    text +=
        fmt::format("; {} late by {} (p50), {} (p99), {} at most", what, FormatDuration(lag.p50_ms),
                    FormatDuration(lag.p99_ms), FormatDuration(lag.max_ms));
  };
  add("its timer", client.timer);
  add("sent", client.sending);
  return text;
}

std::string_view BlameOf(const ClientHealth& client) {
  return client.was_bottleneck ? "the client was the bottleneck"
                               : "others had the client's core when it needed it";
}

std::string DescribeLimits(const std::vector<RequestLimit>& limits) {
  std::string text;
  for (const RequestLimit& limit : limits) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} <= {}", kMetrics.at(static_cast<size_t>(limit.metric)).key,
                        FormatDuration(limit.limit_ms));
  }
  return text;
}

}  // namespace weft
