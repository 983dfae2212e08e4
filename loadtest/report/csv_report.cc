#include "loadtest/report/csv_report.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "loadtest/report/latency.h"

namespace weft {
namespace {

using Clock = RequestRecord::Clock;

void AppendLine(std::string& csv, const RequestRecord& record, const LoadPlan& plan,
                Clock::time_point origin) {
  const auto out = std::back_inserter(csv);
  const auto profile = static_cast<size_t>(record.profile);
  fmt::format_to(out, "{},{},{},{},{:.3f},{:.3f},{:.3f}", record.request,
                 CsvField(profile < plan.profiles.size() ? plan.profiles[profile] : ""),
                 record.hostile ? "hostile"
                 : record.ok()  ? "ok"
                                : CsvField(record.failure),
                 record.http_status, Milliseconds(record.planned - origin),
                 Milliseconds(record.sent - origin), Milliseconds(record.end - origin));
  for (const MetricInfo& info : kMetrics) {
    if (info.metric == Metric::kInterToken) continue;
    csv += ',';
    if (const auto latency = LatencyOf(record, info.metric)) {
      fmt::format_to(out, "{:.3f}", *latency);
    }
  }
  std::vector<double> gaps;
  AppendInterToken(record, gaps);
  csv += ',';
  if (!gaps.empty()) fmt::format_to(out, "{:.3f}", *std::max_element(gaps.begin(), gaps.end()));
  for (const std::optional<int64_t>& count : {record.prompt_tokens, record.cached_tokens}) {
    csv += ',';
    if (count) fmt::format_to(out, "{}", *count);
  }
  fmt::format_to(out, ",{},{},{},{},{}\r\n", record.output_tokens, record.text_count,
                 CsvField(record.finish_reason), CsvField(record.id),
                 CsvField(record.failure_detail));
}

}  // namespace

std::string CsvField(std::string_view text) {
  std::string field;
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) {
    field += '\'';
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    field += byte < 0x20 || byte == 0x7F ? ' ' : c;
    if (c == '"') field += '"';
  }
  return field.find_first_of(",\"") == std::string::npos ? field : '"' + field + '"';
}

std::string CsvReport(const LoadRun& run, const LoadPlan& plan) {
  std::string csv = "request,profile,outcome,http_status,planned_ms,sent_ms,end_ms";
  for (const MetricInfo& info : kMetrics) {
    if (info.metric != Metric::kInterToken) csv += fmt::format(",{}_ms", info.key);
  }
  csv +=
      ",itl_max_ms,prompt_tokens,cached_tokens,output_tokens,texts,finish_reason,id,"
      "failure_detail\r\n";
  if (run.records.empty()) return csv;
  Clock::time_point origin = run.records.front().sent;
  for (const RequestRecord& record : run.records) origin = std::min(origin, record.sent);
  for (const RequestRecord& record : run.records) AppendLine(csv, record, plan, origin);
  return csv;
}

}  // namespace weft
