#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loadtest/report/format.h"
#include "loadtest/report/html_page.h"
#include "loadtest/report/series.h"
#include "loadtest/report/svg_plot.h"
#include "loadtest/sweep/compare_report.h"

namespace weft {
namespace {

constexpr size_t kMaxCurvePoints = 200;
// One meaning a colour, in all plots.
constexpr int kCandidateColour = 1;
constexpr int kBaselineColour = 2;

class ComparePage {
 public:
  ComparePage(const CompareResult& result, const CompareOptions& options,
              const CompareSamples& samples)
      : result_(result), options_(options), samples_(samples) {}

  std::string Render() const {
    std::string body = "<h1>Comparison of two servers</h1>\n";
    body += Side("candidate", result_.candidate) + Side("baseline", result_.baseline);
    body += Verdict() + Cards();
    if (!result_.figures.empty()) body += "<h2>Figures</h2>\n" + Table();
    body += Rounds() + Distributions() + Runs();
    body += fmt::format(
        "<footer>Rounds of two runs each, in the order A B, B A, ..., the same prompts for both "
        "in a round. A change is the geometric mean of the rounds' ratios of candidate to "
        "baseline, with its {} interval (Student's t, paired by round; for all figures together, "
        "95%), or where values are 0 the mean difference over the larger side's mean; less than {} "
        "does not matter. Latency is "
        "counted from when a request should have been sent. Made by weft "
        "loadtest compare.</footer>\n",
        FormatPercent(result_.confidence), FormatPercent(options_.tolerance));
    return HtmlPage("Comparison of two servers", body);
  }

 private:
  static std::string Side(const char* name, const std::vector<LoadReport>& runs) {
    if (runs.empty()) return "";
    const LoadReport& run = runs.front();
    return fmt::format("<p class=\"sub\">{}: {} &middot; {}{} &middot; {}</p>\n", name,
                       EscapeHtml(run.model), EscapeHtml(run.url),
                       run.server.empty() ? "" : EscapeHtml(" (" + run.server + ")"),
                       FormatDate(run.date));
  }

  std::string Verdict() const {
    if (!result_.invalid.empty()) {
      return "<div class=\"verdict bad\"><b>Nothing can be said</b>: " +
             EscapeHtml(result_.invalid) + "</div>\n";
    }
    std::string worse;
    for (const FigureComparison& figure : result_.figures) {
      if (figure.verdict != Verdict::kWorse) continue;
      worse += (worse.empty() ? "" : ", ") + std::string(figure.figure.title);
    }
    return worse.empty()
               ? "<div class=\"verdict\"><b>Not worse</b>: no figure of the candidate is "
                 "worse than the baseline's.</div>\n"
               : "<div class=\"verdict bad\"><b>Worse</b>: " + EscapeHtml(worse) + ".</div>\n";
  }

  std::string Cards() const {
    std::string html = "<div class=\"cards\">\n";
    for (const FigureComparison& figure : result_.figures) {
      const bool has_change = figure.change.sample_count > 0;
      html += HtmlCard(figure.figure.title, has_change ? FormatChange(figure.change.mean) : "none",
                       "", DescribeVerdict(figure, options_.tolerance));
    }
    return html + "</div>\n";
  }

  std::string Table() const {
    std::string html =
        "<div class=\"table\"><table><thead><tr><th>figure</th><th>candidate</th><th>baseline</th>"
        "<th>change</th><th>" +
        FormatPercent(result_.confidence) + " interval</th><th>verdict</th></tr></thead><tbody>\n";
    for (const FigureComparison& figure : result_.figures) {
      const char* style = figure.verdict == Verdict::kWorse    ? "missed"
                          : figure.verdict == Verdict::kBetter ? "met"
                                                               : "";
      const std::string verdict = EscapeHtml(DescribeVerdict(figure, options_.tolerance));
      html += "<tr><th>" + EscapeHtml(figure.figure.title) + "</th>";
      html += figure.change.sample_count > 0
                  ? fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{} to {}</td>",
                                FormatFigure(figure.figure, figure.candidate.mean),
                                FormatFigure(figure.figure, figure.baseline.mean),
                                FormatChange(figure.change.mean), FormatChange(figure.change.low),
                                FormatChange(figure.change.high))
                  : "<td></td><td></td><td></td><td></td>";
      html += fmt::format("<td class=\"{}\">{}</td></tr>\n", style, verdict);
    }
    return html + "</tbody></table></div>\n";
  }

  std::string Rounds() const {
    std::string html;
    for (const FigureComparison& comparison : result_.figures) {
      const RunFigure& figure = comparison.figure;
      Plot plot;
      plot.title = figure.title;
      plot.caption =
          figure.more_is_better ? "a point a run; more is better" : "a point a run; less is better";
      plot.x = {.label = "round", .max = std::nullopt};
      plot.y = {
          .label = std::string(figure.unit == PlotUnit::kMilliseconds ? "latency" : figure.title),
          .unit = figure.unit,
          .max = std::nullopt};
      plot.series = {OverRounds("candidate", kCandidateColour, result_.candidate, figure),
                     OverRounds("baseline", kBaselineColour, result_.baseline, figure)};
      html += RenderPlot(plot);
    }
    if (html.empty()) return "";
    return "<h2>Over the rounds</h2>\n<div class=\"plots\">\n" + html + "</div>\n";
  }

  static PlotSeries OverRounds(const char* name, int colour, const std::vector<LoadReport>& runs,
                               const RunFigure& figure) {
    PlotSeries series{.name = name, .colour = colour, .points = {}};
    for (size_t round = 0; round < runs.size(); ++round) {
      const auto value = figure.value(runs[round]);
      if (value) series.points.push_back({static_cast<double>(round + 1), *value, {}, {}});
    }
    return series;
  }

  std::string Distributions() const {
    std::string html;
    for (const auto& [metric, title, whose] :
         {std::tuple(Metric::kFirstToken, "Time to first token", "requests"),
          std::tuple(Metric::kInterToken, "Between tokens", "tokens"),
          std::tuple(Metric::kEndToEnd, "End to end", "requests")}) {
      if (samples_.candidate[metric].empty() && samples_.baseline[metric].empty()) continue;
      Plot plot;
      plot.title = title;
      plot.caption = fmt::format("the share of {} that took at most so long, of all rounds", whose);
      plot.x = {.label = "latency",
                .unit = PlotUnit::kMilliseconds,
                .logarithmic = true,
                .max = std::nullopt};
      plot.y = {.label = fmt::format("share of {}", whose), .unit = PlotUnit::kShare, .max = 1.0};
      plot.series = {Cumulative("candidate", kCandidateColour, samples_.candidate[metric]),
                     Cumulative("baseline", kBaselineColour, samples_.baseline[metric])};
      html += RenderPlot(plot);
    }
    if (html.empty()) return "";
    return "<h2>Distributions</h2>\n<div class=\"plots\">\n" + html + "</div>\n";
  }

  static PlotSeries Cumulative(const char* name, int colour, const std::vector<double>& samples) {
    return {.name = name,
            .colour = colour,
            .points = CumulativeShares(samples, kMaxCurvePoints),
            .stepped = true};
  }

  std::string Runs() const {
    std::string html =
        "<h2>Runs</h2>\n<div class=\"table words\"><table><thead><tr><th>side</th><th>plan</th>"
        "<th>faults</th></tr></thead><tbody>\n";
    for (const auto& [name, runs] :
         {std::pair("candidate", &result_.candidate), std::pair("baseline", &result_.baseline)}) {
      if (runs->empty()) continue;
      std::string faults;
      for (size_t round = 0; round < runs->size(); ++round) {
        for (const Fault& fault : (*runs)[round].faults) {
          faults +=
              fmt::format("{}round {}: {}", faults.empty() ? "" : "; ", round + 1, fault.text);
        }
      }
      fmt::format_to(std::back_inserter(html), "<tr><th>{}</th><td>{}</td><td>{}</td></tr>\n", name,
                     EscapeHtml(runs->front().plan), EscapeHtml(faults));
    }
    return html + "</tbody></table></div>\n";
  }

  const CompareResult& result_;
  const CompareOptions& options_;
  const CompareSamples& samples_;
};

}  // namespace

std::string CompareHtml(const CompareResult& result, const CompareOptions& options,
                        const CompareSamples& samples) {
  return ComparePage(result, options, samples).Render();
}

}  // namespace weft
