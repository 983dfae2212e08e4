#include "loadtest/report/html_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "loadtest/report/format.h"
#include "loadtest/report/html_page.h"
#include "loadtest/report/series.h"
#include "loadtest/report/svg_plot.h"
#include "loadtest/report/timeline.h"

namespace weft {
namespace {

constexpr size_t kMaxBuckets = 80;
constexpr size_t kMaxCurvePoints = 200;

// A duration as a card shows it: number and unit apart.
std::string DurationCard(std::string_view name, const Distribution& d) {
  if (d.sample_count == 0) return "";
  const std::string p50 = FormatDuration(d.p50);
  const size_t space = p50.find(' ');
  return HtmlCard(name, p50.substr(0, space), p50.substr(space + 1) + " p50",
                  FormatDuration(d.p99) + " p99");
}

std::string Cards(const LoadReport& report) {
  const LoadSummary& summary = report.summary;
  const GroupSummary& all = summary.all;
  std::string html = "<div class=\"cards\">\n";
  const bool generates = summary.generates;
  html += HtmlCard(
      generates ? "Output" : "Texts", FormatNumber(OutputPerSecond(all, generates)),
      generates ? "tokens/s" : "/s",
      summary.steady.exists()
          ? FormatNumber(OutputPerSecond(summary.steady, generates)) + " while requests were sent"
          : "");
  html +=
      HtmlCard("Requests", FormatNumber(all.requests_per_s), "/s",
               FormatCount(all.succeeded) + " succeeded, " + FormatCount(all.failed) + " failed");
  if (report.goodput) {
    html += HtmlCard("Goodput", FormatNumber(report.goodput->requests_per_s), "/s",
                     DescribeLimits(report.goodput->limits));
  }
  html += DurationCard("Time to first token", all.latencies[Metric::kFirstToken]);
  html += DurationCard("Inter-token latency", all.latencies[Metric::kInterToken]);
  html += DurationCard("End to end", all.latencies[Metric::kEndToEnd]);
  return html + "</div>\n";
}

// The limit of an objective about a figure of the plot.
std::vector<PlotMark> ObjectiveMarks(const LoadReport& report, Metric metric) {
  std::vector<PlotMark> marks;
  for (const ObjectiveResult& result : report.objectives) {
    if (result.objective.metric != metric) continue;
    marks.push_back({result.objective.limit, "objective " + result.objective.name});
  }
  return marks;
}

Plot PercentilesOverTime(const LoadReport& report, const TimeSeries& series, Metric metric,
                         const Distribution TimeBucket::*member, std::string caption) {
  Plot plot;
  plot.title = std::string(kMetrics.at(static_cast<size_t>(metric)).title) + " over time";
  plot.caption =
      fmt::format("in buckets of {}: {}", FormatDuration(series.bucket_s * 1000), caption);
  plot.x = {.label = "time", .unit = PlotUnit::kSeconds, .max = std::nullopt};
  plot.y = {.label = "latency",
            .unit = PlotUnit::kMilliseconds,
            .logarithmic = true,
            .max = std::nullopt};
  plot.series = {{.name = "p50", .colour = 1, .points = {}},
                 {.name = "p99", .colour = 2, .points = {}}};
  for (const TimeBucket& bucket : series.buckets) {
    const Distribution& d = bucket.*member;
    if (d.sample_count == 0) continue;
    const double middle_s = bucket.begin_s + series.bucket_s / 2;
    plot.series[0].points.push_back({middle_s, d.p50, {}, {}});
    plot.series[1].points.push_back({middle_s, d.p99, {}, {}});
  }
  plot.y_marks = ObjectiveMarks(report, metric);
  return plot;
}

Plot ValuesOverTime(std::string title, std::string caption, std::string label) {
  Plot plot;
  plot.title = std::move(title);
  plot.caption = std::move(caption);
  plot.x = {.label = "time", .unit = PlotUnit::kSeconds, .max = std::nullopt};
  plot.y = {.label = std::move(label), .max = std::nullopt};
  return plot;
}

void AddSteps(Plot& plot, const TimeSeries& series, PlotSeries line,
              const double TimeBucket::*member) {
  for (const TimeBucket& bucket : series.buckets) {
    line.points.push_back({bucket.begin_s, bucket.*member, {}, {}});
  }
  if (!line.points.empty()) line.points.push_back({series.end_s, line.points.back().y, {}, {}});
  line.stepped = true;
  plot.series.push_back(std::move(line));
}

// Buckets that hold some requests each: percentiles of one say nothing.
size_t BucketCount(const LoadSummary& summary) {
  return std::clamp<size_t>(static_cast<size_t>(summary.all.succeeded) / 5, 10, kMaxBuckets);
}

std::string LatenciesOverTime(const LoadReport& report, const TimeSeries& series) {
  std::string html;
  if (report.summary.all.latencies[Metric::kFirstToken].sample_count > 0) {
    html += RenderPlot(PercentilesOverTime(report, series, Metric::kFirstToken,
                                           &TimeBucket::first_token,
                                           "requests that should have been sent in it"));
    html += RenderPlot(PercentilesOverTime(report, series, Metric::kInterToken,
                                           &TimeBucket::inter_token, "tokens that came in it"));
  }
  return html +
         RenderPlot(PercentilesOverTime(report, series, Metric::kEndToEnd, &TimeBucket::end_to_end,
                                        "requests that ended in it"));
}

std::string OverTime(const LoadReport& report, const LoadRun& run) {
  const TimeSeries series = MakeTimeSeries(run, BucketCount(report.summary));
  std::string html =
      "<h2>Over time</h2>\n<div class=\"plots\">\n" + LatenciesOverTime(report, series);
  const bool generates = report.summary.generates;
  Plot output = ValuesOverTime("Throughput",
                               generates ? "output tokens that came, a second"
                                         : "texts whose vectors or scores came, a second",
                               generates ? "tokens/s" : "texts/s");
  AddSteps(output, series,
           {.name = std::string(OutputUnit(generates)), .colour = 3, .points = {}, .filled = true},
           generates ? &TimeBucket::output_tokens_per_s : &TimeBucket::texts_per_s);
  html += RenderPlot(output);
  Plot load = ValuesOverTime("Load", "requests that the server had, on average", "requests");
  AddSteps(load, series, {.name = "in flight", .colour = 1, .points = {}, .filled = true},
           &TimeBucket::in_flight);
  html += RenderPlot(load);
  Plot ended = ValuesOverTime("Requests", "those that ended, a second", "requests/s");
  AddSteps(ended, series, {.name = "succeeded/s", .colour = 3, .points = {}, .filled = true},
           &TimeBucket::succeeded_per_s);
  if (report.summary.all.failed > 0) {
    AddSteps(ended, series, {.name = "failed/s", .colour = 2, .points = {}},
             &TimeBucket::failed_per_s);
  }
  html += RenderPlot(ended);
  return html + "</div>\n";
}

struct Curve {
  Metric metric;
  const char* name;
  int colour;
};

Plot CumulativePlot(const LatencySamples& samples, std::string title, std::string caption,
                    const std::vector<Curve>& curves) {
  Plot plot;
  plot.title = std::move(title);
  plot.caption = std::move(caption);
  plot.x = {.label = "latency",
            .unit = PlotUnit::kMilliseconds,
            .logarithmic = true,
            .max = std::nullopt};
  plot.y = {.label = "share of samples", .unit = PlotUnit::kShare, .max = 1.0};
  for (const Curve& curve : curves) {
    plot.series.push_back({.name = curve.name,
                           .colour = curve.colour,
                           .points = CumulativeShares(samples[curve.metric], kMaxCurvePoints),
                           .stepped = true});
  }
  return plot;
}

std::string Distributions(const LoadRun& run) {
  LatencySamples samples;
  for (const RequestRecord& record : run.records) {
    if (record.ok()) AppendLatencies(record, samples);
  }
  std::string html = "<h2>Distributions</h2>\n<div class=\"plots\">\n";
  if (!samples[Metric::kFirstToken].empty()) {
    html += RenderPlot(CumulativePlot(samples, "Time to first token",
                                      "the share of requests that took at most so long",
                                      {{Metric::kFirstToken, "from the planned time", 1},
                                       {Metric::kFirstTokenSent, "from sending", 3}}));
    html +=
        RenderPlot(CumulativePlot(samples, "Between tokens",
                                  "the share of tokens, and of requests, that took at most so long",
                                  {{Metric::kInterToken, "inter-token latency", 1},
                                   {Metric::kPerToken, "time per output token", 3}}));
  }
  html += RenderPlot(CumulativePlot(samples, "End to end",
                                    "the share of requests that took at most so long",
                                    {{Metric::kEndToEnd, "from the planned time", 1},
                                     {Metric::kEndToEndSent, "from sending", 3}}));
  if (!samples[Metric::kPrefill].empty() || !samples[Metric::kQueue].empty()) {
    html += RenderPlot(CumulativePlot(samples, "As the server says",
                                      "the share of requests that took at most so long",
                                      {{Metric::kQueue, "queue", 2},
                                       {Metric::kPrefill, "prefill", 1},
                                       {Metric::kDecode, "decode", 3}}));
  }
  return html + "</div>\n";
}

class FactTable {
 public:
  void Add(std::string_view name, std::string_view value, std::string_view style = "") {
    fmt::format_to(std::back_inserter(rows_), "<tr><th>{}</th><td class=\"{}\">{}</td></tr>\n",
                   EscapeHtml(name), style, EscapeHtml(value));
  }
  std::string Finish() const {
    return "<div class=\"table words\"><table><tbody>\n" + rows_ + "</tbody></table></div>\n";
  }

 private:
  std::string rows_;
};

std::string Objectives(const LoadReport& report) {
  if (report.objectives.empty()) return "";
  std::string html =
      "<h2>Objectives</h2>\n<div class=\"table words\"><table><thead><tr><th>figure</th>"
      "<th>measured</th><th>at most</th><th></th></tr></thead><tbody>\n";
  for (const ObjectiveResult& result : report.objectives) {
    fmt::format_to(std::back_inserter(html),
                   "<tr><th>{}</th><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>\n",
                   EscapeHtml(result.objective.name), FormatMeasured(result),
                   FormatLimit(result.objective), result.met ? "met" : "missed",
                   result.met ? "met" : "missed");
  }
  return html + "</tbody></table></div>\n";
}

std::string Failures(const LoadSummary& summary) {
  if (summary.all.failures.empty() && summary.hostile.empty()) return "";
  std::string html =
      "<h2>Failures</h2>\n<div class=\"table words\"><table><thead><tr><th>kind</th><th>count</th>"
      "<th>an example</th></tr></thead><tbody>\n";
  const auto add = [&](std::string_view kind, int64_t count, std::string_view example) {
    fmt::format_to(std::back_inserter(html), "<tr><th>{}</th><td>{}</td><td>{}</td></tr>\n",
                   EscapeHtml(kind), FormatCount(count), EscapeHtml(example));
  };
  for (const auto& [kind, failure] : summary.all.failures) {
    add(kind, failure.count, failure.example);
  }
  for (const auto& [outcome, count] : summary.hostile) {
    add(outcome, count, "hostile on purpose: not a failure");
  }
  return html + "</tbody></table></div>\n";
}

std::string Verdict(const std::vector<Fault>& faults) {
  if (faults.empty()) {
    return "<div class=\"verdict\"><b>Success</b>: the client kept up, and everything asked of the "
           "server was met.</div>\n";
  }
  std::string html = "<div class=\"verdict bad\"><b>Failed</b><ul>";
  for (const Fault& fault : faults) html += "<li>" + EscapeHtml(fault.text) + "</li>";
  return html + "</ul></div>\n";
}

std::string LatencyTable(const Latencies& latencies) {
  std::string html =
      "<div class=\"table\"><table><thead><tr><th>milliseconds</th><th>mean</th><th>p50</th>"
      "<th>p90</th><th>p95</th><th>p99</th><th>p99.9</th><th>max</th><th>stddev</th>"
      "<th>samples</th></tr></thead><tbody>\n";
  for (const MetricInfo& info : kMetrics) {
    const Distribution& d = latencies[info.metric];
    if (d.sample_count == 0) continue;
    fmt::format_to(std::back_inserter(html), "<tr><th title=\"{}\">{}</th>",
                   EscapeHtml(info.meaning), EscapeHtml(info.title));
    for (const double value : {d.mean, d.p50, d.p90, d.p95, d.p99, d.p999, d.max, d.stddev}) {
      html += "<td>" + FormatMilliseconds(value) + "</td>";
    }
    html += "<td>" + FormatCount(d.sample_count) + "</td></tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string Profiles(const LoadSummary& summary) {
  if (summary.profiles.empty()) return "";
  std::string html = "<h2>Profiles</h2>\n";
  for (const ProfileSummary& profile : summary.profiles) {
    const GroupSummary& figures = profile.figures;
    html += fmt::format(
        "<h3>{}</h3><p class=\"sub\">{} succeeded, {} failed; {} {}, {} requests/s</p>",
        EscapeHtml(profile.name), FormatCount(figures.succeeded), FormatCount(figures.failed),
        FormatNumber(OutputPerSecond(figures, summary.generates)), OutputUnit(summary.generates),
        FormatNumber(figures.requests_per_s));
    html += LatencyTable(figures.latencies);
  }
  return html;
}

std::string Setup(const LoadReport& report) {
  const LoadSummary& summary = report.summary;
  FactTable table;
  table.Add("server", report.url + (report.server.empty() ? "" : " (" + report.server + ")"));
  table.Add("model", report.model);
  table.Add("load", report.plan);
  table.Add("begun", FormatDate(report.date));
  table.Add("length", fmt::format("{} from the first sending to the last end",
                                  FormatDuration(summary.duration_s * 1000)));
  if (const SteadyState& steady = summary.steady; steady.exists()) {
    table.Add("while sending",
              fmt::format("{} {}, {} requests/s, from {:.1f} s (end of the ramp) to {:.1f} s "
                          "(last sending)",
                          FormatNumber(OutputPerSecond(steady, summary.generates)),
                          OutputUnit(summary.generates), FormatNumber(steady.requests_per_s),
                          steady.begin_s, steady.end_s));
  }
  table.Add("in flight",
            fmt::format("{} on average, {} at most", FormatNumber(summary.mean_in_flight),
                        FormatCount(summary.peak_in_flight)));
  table.Add("tokens", DescribeTokens(summary.all));
  if (summary.verified_count > 0) {
    table.Add("correctness",
              fmt::format("{} of {} outputs are the same as of the request alone",
                          summary.verified_count - summary.mismatch_count, summary.verified_count));
  }
  table.Add("client", DescribeClient(summary.client));
  return "<h2>Configuration and environment</h2>\n" + table.Finish();
}

}  // namespace

std::string HtmlReport(const LoadReport& report, const LoadRun& run) {
  std::string body =
      fmt::format("<h1>Load test of {}</h1>\n<p class=\"sub\">{}{} &middot; {}<br>{}</p>\n",
                  EscapeHtml(report.model), EscapeHtml(report.url),
                  report.server.empty() ? "" : EscapeHtml(" (" + report.server + ")"),
                  FormatDate(report.date), EscapeHtml(report.plan));
  body += Verdict(report.faults);
  body += Cards(report);
  body += Objectives(report);
  body += "<h2>Latency</h2>\n" + LatencyTable(report.summary.all.latencies);
  body += Failures(report.summary);
  body += OverTime(report, run);
  body += Distributions(run);
  body += "<h2>Requests</h2>\n" + RenderTimeline(run);
  body += Profiles(report.summary);
  body += Setup(report);
  body +=
      "<footer>Latency is counted from when a request should have been sent, and of requests that "
      "succeeded. ";
  if (report.summary.generates) {
    body +=
        "Inter-token latency is by token: k tokens that come together after a gap g count as k "
        "gaps of g/k. ";
  }
  body += "Percentiles are exact, by nearest rank. Made by weft loadtest.</footer>\n";
  return HtmlPage("Load test of " + report.model, body);
}

}  // namespace weft
