#include "loadtest/report/timeline.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "loadtest/report/axis.h"
#include "loadtest/report/format.h"
#include "loadtest/report/html_page.h"
#include "loadtest/report/latency.h"
#include "loadtest/report/svg_plot.h"

namespace weft {
namespace {

using Clock = RequestRecord::Clock;

constexpr size_t kMaxRows = 240;
constexpr double kWidth = 1120, kLeft = 8, kRight = kWidth - 16, kTop = 8;
constexpr double kMostHeight = 560, kHighestRow = 14;

// Phases, in the order in which a request goes through them.
enum Phase { kLate, kQueue, kPrefill, kDecode, kFailed, kHostile };
struct PhaseInfo {
  const char* style;
  const char* name;
};
constexpr PhaseInfo kPhases[] = {{"late", "sent late"},        {"s2", "queue (server)"},
                                 {"s1", "to the first token"}, {"s3", "answering"},
                                 {"failed", "failed"},         {"s4", "hostile on purpose"}};

class Timeline {
 public:
  Timeline(const std::vector<RequestRecord>& records, const std::vector<size_t>& rows)
      : records_(records), rows_(rows), origin_(Origin()), x_(0, LastEnd(), false, kLeft, kRight) {}

  std::string Render() {
    const auto count = static_cast<double>(rows_.size());
    row_height_ = std::min(kHighestRow, kMostHeight / count);
    const double bottom = kTop + row_height_ * count;
    std::string svg = fmt::format(
        "<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"Timeline of requests\">", kWidth,
        bottom + 44);
    for (const double tick : x_.ticks()) {
      const double x = x_.Place(tick);
      const char* anchor = x > kRight - 20 ? "end" : x < kLeft + 20 ? "start" : "middle";
      svg += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.1f}\"/><text "
          "class=\"tick\" text-anchor=\"{3}\" x=\"{0:.1f}\" y=\"{4:.1f}\">{5}</text>",
          x, kTop, bottom, anchor, bottom + 18, FormatTick(tick, PlotUnit::kMilliseconds));
    }
    for (size_t row = 0; row < rows_.size(); ++row) svg += Row(row);
    svg += fmt::format(
        "<text class=\"label\" text-anchor=\"middle\" x=\"{}\" y=\"{:.1f}\">time since the first "
        "request</text></svg>",
        kWidth / 2, bottom + 38);
    return svg;
  }

  std::string Legend() const {
    std::string legend = "<ul class=\"legend\">";
    for (size_t phase = 0; phase < std::size(kPhases); ++phase) {
      if (!used_[phase]) continue;
      legend += fmt::format("<li><i class=\"box {}\"></i>{}</li>", kPhases[phase].style,
                            kPhases[phase].name);
    }
    return legend + "</ul>";
  }

 private:
  Clock::time_point Origin() const {
    Clock::time_point origin = Clock::time_point::max();
    for (const RequestRecord& record : records_) {
      origin = std::min({origin, record.planned, record.sent});
    }
    return origin;
  }

  double LastEnd() const {
    double end_ms = 0;
    for (const RequestRecord& record : records_) end_ms = std::max(end_ms, Since(record.end));
    return end_ms;
  }

  double Since(Clock::time_point time) const { return Milliseconds(time - origin_); }

  std::string Row(size_t row) {
    const RequestRecord& record = records_[rows_[row]];
    std::string spans;
    const double sent_ms = Since(record.sent), end_ms = Since(record.end);
    AddSpan(spans, row, kLate, Since(record.planned), sent_ms);
    if (!record.ok()) {
      AddSpan(spans, row, record.hostile ? kHostile : kFailed, sent_ms, end_ms);
    } else {
      const double first_ms =
          record.arrivals.empty() ? sent_ms : Since(record.arrivals.front().time);
      const double queued_ms = std::min(sent_ms + record.server.queue_ms.value_or(0), first_ms);
      AddSpan(spans, row, kQueue, sent_ms, queued_ms);
      AddSpan(spans, row, kPrefill, queued_ms, first_ms);
      AddSpan(spans, row, kDecode, first_ms, end_ms);
    }
    return fmt::format("<g class=\"row\"><title>{}</title>{}</g>", EscapeHtml(Title(record)),
                       spans);
  }

  void AddSpan(std::string& spans, size_t row, Phase phase, double begin_ms, double end_ms) {
    const double from = x_.Place(begin_ms), to = x_.Place(end_ms);
    // A failure is shown however short it was.
    const double width = phase == kFailed ? std::max(to - from, 2.0) : to - from;
    if (width < 0.05) return;
    used_[phase] = true;
    spans += fmt::format(
        "<rect class=\"span {}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\"/>",
        kPhases[phase].style, from, kTop + row_height_ * static_cast<double>(row),
        std::max(width, 0.1), row_height_ * (row_height_ > 4 ? 0.8 : 0.9));
  }

  std::string Title(const RequestRecord& record) const {
    std::string title = fmt::format("request {}\nsent at {} (late by {})", record.request,
                                    FormatDuration(Since(record.sent)),
                                    FormatDuration(Milliseconds(record.sent - record.planned)));
    if (record.server.queue_ms) title += "\nqueue " + FormatDuration(*record.server.queue_ms);
    if (const auto first = LatencyOf(record, Metric::kFirstToken)) {
      title += "\nfirst token after " + FormatDuration(*first);
    }
    title += "\nend to end " + FormatDuration(*LatencyOf(record, Metric::kEndToEnd));
    title += '\n';
    if (record.prompt_tokens) title += fmt::format("{} tokens in, ", *record.prompt_tokens);
    title += record.text_count > 0 ? fmt::format("{} texts", record.text_count)
                                   : fmt::format("{} tokens out", record.output_tokens);
    if (!record.failure.empty()) title += "\nfailed: " + record.failure;
    return title;
  }

  const std::vector<RequestRecord>& records_;
  const std::vector<size_t>& rows_;
  Clock::time_point origin_;
  AxisScale x_;
  double row_height_ = kHighestRow;
  bool used_[std::size(kPhases)] = {};
};

}  // namespace

std::vector<size_t> ChooseRows(const std::vector<RequestRecord>& records, size_t max_rows) {
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return records[a].planned < records[b].planned; });
  if (order.size() <= max_rows) return order;
  std::vector<bool> chosen(records.size());  // by place in the order
  const size_t failure_rows = max_rows / 4;
  const size_t even_rows = max_rows - failure_rows;
  for (size_t i = 0; i < even_rows; ++i) chosen[i * order.size() / even_rows] = true;
  std::vector<size_t> failures;
  for (size_t i = 0; i < order.size(); ++i) {
    if (!records[order[i]].failure.empty()) failures.push_back(i);
  }
  const size_t shown_failures = std::min(failures.size(), failure_rows);
  for (size_t i = 0; i < shown_failures; ++i) {
    chosen[failures[i * failures.size() / shown_failures]] = true;
  }
  std::vector<size_t> rows;
  for (size_t i = 0; i < order.size(); ++i) {
    if (chosen[i]) rows.push_back(order[i]);
  }
  return rows;
}

std::string RenderTimeline(const LoadRun& run) {
  if (run.records.empty()) return "<figure><p class=\"none\">no request</p></figure>\n";
  const std::vector<size_t> rows = ChooseRows(run.records, kMaxRows);
  const std::string what =
      rows.size() == run.records.size()
          ? "a line a request, in the order in which they should have been sent"
          : fmt::format(
                "{} of {} requests, a line each: evenly chosen in the order in which they "
                "should have been sent, and failures",
                rows.size(), FormatCount(static_cast<int64_t>(run.records.size())));
  Timeline timeline(run.records, rows);
  const std::string svg = timeline.Render();
  return fmt::format(
      "<figure class=\"timeline\"><figcaption><b>Timeline of requests</b><span>{}</span>"
      "</figcaption>{}<div class=\"wide\">{}</div></figure>\n",
      what, timeline.Legend(), svg);
}

}  // namespace weft
