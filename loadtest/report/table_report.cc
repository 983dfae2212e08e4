#include "loadtest/report/table_report.h"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "loadtest/report/format.h"

namespace weft {
namespace {

class Table {
 public:
  explicit Table(bool colour) : colour_(colour) {}

  // A fact with its name in the left column.
  void Fact(std::string_view name, std::string_view value) {
    text_ += Styled(kDim, fmt::format("{:<12}", name));
    (text_ += value) += '\n';
  }
  void Line(std::string_view line = "") { (text_ += line) += '\n'; }
  std::string Good(std::string_view text) const { return Styled(kGreen, text); }
  std::string Bad(std::string_view text) const { return Styled(kRed, text); }
  std::string Strong(std::string_view text) const { return Styled(kBold, text); }
  std::string Dim(std::string_view text) const { return Styled(kDim, text); }
  std::string Finish() { return std::move(text_); }

 private:
  static constexpr std::string_view kBold = "1";
  static constexpr std::string_view kDim = "2";
  static constexpr std::string_view kRed = "1;31";
  static constexpr std::string_view kGreen = "32";

  std::string Styled(std::string_view style, std::string_view text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : std::string(text);
  }

  std::string text_;
  bool colour_;
};

void AddHead(Table& table, const LoadReport& report) {
  std::string target = report.url + "  " + Printable(report.model);
  if (!report.server.empty()) target += "  (" + Printable(report.server) + ")";
  table.Fact("server", target);
  table.Fact("load", report.plan);
  table.Fact("date", fmt::format("{}, {}", FormatDate(report.date),
                                 FormatDuration(report.summary.duration_s * 1000)));
  table.Line();
}

void AddThroughput(Table& table, const LoadReport& report) {
  const LoadSummary& summary = report.summary;
  const GroupSummary& all = summary.all;
  std::string requests = table.Strong(FormatCount(all.succeeded)) + " succeeded, ";
  const std::string failed = FormatCount(all.failed) + " failed";
  requests += all.failed > 0 ? table.Bad(failed) : failed;
  if (all.failed > 0) requests += fmt::format(" ({})", FormatPercent(all.error_rate()));
  if (all.hostile > 0) requests += fmt::format(", {} hostile on purpose", FormatCount(all.hostile));
  table.Fact("requests", requests);
  table.Fact("tokens", DescribeTokens(all));
  const std::string_view unit = OutputUnit(summary.generates);
  std::string throughput = fmt::format(
      "{} {}, {} requests/s", table.Strong(FormatNumber(OutputPerSecond(all, summary.generates))),
      unit, table.Strong(FormatNumber(all.requests_per_s)));
  if (all.prompt_tokens_per_s) {
    throughput += fmt::format(", {} input tokens/s", FormatNumber(*all.prompt_tokens_per_s));
  }
  table.Fact("throughput", throughput);
  if (const SteadyState& steady = summary.steady; steady.exists()) {
    table.Fact("  steady",
               fmt::format("{} {}, {} requests/s  {}",
                           FormatNumber(OutputPerSecond(steady, summary.generates)), unit,
                           FormatNumber(steady.requests_per_s),
                           table.Dim(fmt::format("(while requests were sent: {:.1f} s to {:.1f} s)",
                                                 steady.begin_s, steady.end_s))));
  }
  table.Fact("in flight",
             fmt::format("{} on average, {} at most", FormatNumber(summary.mean_in_flight),
                         FormatCount(summary.peak_in_flight)));
  if (const auto& goodput = report.goodput) {
    table.Fact("goodput",
               fmt::format("{} requests/s meet {}: {} of all",
                           table.Strong(FormatNumber(goodput->requests_per_s)),
                           DescribeLimits(goodput->limits), FormatPercent(goodput->share)));
  }
  table.Line();
}

void AddLatencies(Table& table, const Latencies& latencies, std::string_view title) {
  std::string head = fmt::format("{:<27}", title);
  for (const char* column : {"mean", "p50", "p90", "p95", "p99", "p99.9", "max", "stddev"}) {
    fmt::format_to(std::back_inserter(head), "{:>9}", column);
  }
  table.Line(table.Dim(head));
  for (const MetricInfo& info : kMetrics) {
    const Distribution& d = latencies[info.metric];
    if (d.sample_count == 0) continue;
    std::string row = fmt::format("{:<27}", info.title);
    for (const double value : {d.mean, d.p50, d.p90, d.p95, d.p99, d.p999, d.max, d.stddev}) {
      fmt::format_to(std::back_inserter(row), "{:>9}", FormatMilliseconds(value));
    }
    table.Line(row);
  }
  table.Line();
}

void AddProfiles(Table& table, const LoadSummary& summary) {
  for (const ProfileSummary& profile : summary.profiles) {
    const GroupSummary& figures = profile.figures;
    table.Fact("profile",
               fmt::format("{}: {} succeeded, {} failed, {} {}, {} requests/s",
                           table.Strong(Printable(profile.name)), FormatCount(figures.succeeded),
                           FormatCount(figures.failed),
                           FormatNumber(OutputPerSecond(figures, summary.generates)),
                           OutputUnit(summary.generates), FormatNumber(figures.requests_per_s)));
    AddLatencies(table, figures.latencies, "milliseconds");
  }
}

void AddOutcomes(Table& table, const LoadReport& report) {
  const LoadSummary& summary = report.summary;
  for (const ObjectiveResult& result : report.objectives) {
    table.Fact("objective", (result.met ? table.Good("met     ") : table.Bad("MISSED  ")) +
                                DescribeObjective(result));
  }
  for (const auto& [kind, failure] : summary.all.failures) {
    table.Fact("failed", table.Bad(fmt::format("{} x {}", FormatCount(failure.count), kind)) +
                             (failure.example.empty() ? "" : ": " + Printable(failure.example)));
  }
  for (const auto& [outcome, count] : summary.hostile) {
    table.Fact("hostile", fmt::format("{} x {}", FormatCount(count), outcome));
  }
  if (summary.verified_count > 0) {
    const std::string verdict =
        fmt::format("{} of {} outputs are the same as alone",
                    summary.verified_count - summary.mismatch_count, summary.verified_count);
    table.Fact("correct", summary.mismatch_count == 0 ? table.Good(verdict) : table.Bad(verdict));
  }
  table.Fact("client", DescribeClient(summary.client));
}

}  // namespace

std::string TableReport(const LoadReport& report, bool colour) {
  Table table(colour);
  AddHead(table, report);
  if (const std::string& why = report.summary.client.invalid; !why.empty()) {
    table.Line(table.Bad(fmt::format("INVALID RUN: {}, these figures are not the server's.",
                                     BlameOf(report.summary.client))));
    table.Line(table.Bad("             " + why));
    table.Line();
  }
  AddThroughput(table, report);
  AddLatencies(table, report.summary.all.latencies, "milliseconds");
  AddProfiles(table, report.summary);
  AddOutcomes(table, report);
  for (const Fault& fault : report.faults) {
    // Objectives have their lines above.
    if (fault.kind != FaultKind::kObjectiveMissed) table.Fact("FAILED", table.Bad(fault.text));
  }
  return table.Finish();
}

}  // namespace weft
