// Figures as people read them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "loadtest/report/objectives.h"

namespace weft {

// Text of the server's as one printable line, cut where it is long.
std::string Printable(std::string_view text, size_t most_bytes = 160);

std::string FormatCount(int64_t count);  // 12,345
std::string FormatNumber(double value);  // three digits that count or more: 0.0123, 1.23, 1,235
std::string FormatDuration(double milliseconds);  // with a unit that fits: 85 us, 12.3 ms, 1.52 s
std::string FormatMilliseconds(double milliseconds);  // of a column, no unit: 12.34, 1234.5
std::string FormatPercent(double share);              // 0.015 is 1.5%
std::string FormatDate(std::chrono::system_clock::time_point date);  // 2026-11-21 15:40:00 UTC

std::string FormatMeasured(const ObjectiveResult& result);  // "432 ms", "no sample"
std::string FormatLimit(const Objective& objective);        // "500 ms", "1%"
// "ttft_p99 432 ms, at most 500 ms"
std::string DescribeObjective(const ObjectiveResult& result);
// "1,234 in (40 of them cached), 5,678 out", as far as the server counts; "1,234 in of 56 texts".
std::string DescribeTokens(const GroupSummary& figures);
// "3% of a core, 85 us a request, ..."
std::string DescribeClient(const ClientHealth& client);
// Whose fault it is that a run is invalid: "the client was the bottleneck".
std::string_view BlameOf(const ClientHealth& client);
// "ttft <= 500 ms, tpot <= 50 ms"
std::string DescribeLimits(const std::vector<RequestLimit>& limits);

}  // namespace weft
