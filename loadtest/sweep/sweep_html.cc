#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loadtest/report/format.h"
#include "loadtest/report/html_page.h"
#include "loadtest/report/svg_plot.h"
#include "loadtest/sweep/run_figures.h"
#include "loadtest/sweep/sweep_report.h"

namespace weft {
namespace {

struct Line {
  std::string_view figure;
  std::string name;
  int colour;
};

class SweepPage {
 public:
  SweepPage(const SweepResult& result, const SweepOptions& options)
      : result_(result),
        options_(options),
        generates_(result.steps.empty() || result.steps.front().runs.front().summary.generates),
        load_name_(options.open_loop ? "offered load, requests/s" : "users at a time") {}

  std::string Render() const {
    const LoadReport* run = result_.steps.empty() ? nullptr : &result_.steps.front().runs.front();
    const std::string model = run == nullptr ? "" : run->model;
    std::string body = "<h1>Load sweep of " + EscapeHtml(model) + "</h1>\n";
    if (run != nullptr) {
      body += fmt::format("<p class=\"sub\">{}{} &middot; {}</p>\n", EscapeHtml(run->url),
                          run->server.empty() ? "" : EscapeHtml(" (" + run->server + ")"),
                          FormatDate(run->date));
    }
    body += Findings();
    body += Plots();
    body += "<h2>Figures</h2>\n" + Table();
    body += Setup();
    body +=
        "<footer>Means over the repeats of a load; bars and &plusmn; are their 95% interval "
        "(Student's t). Latency is counted from when a request should have been sent. Throughput "
        "is that of the time while requests were sent. Made by weft loadtest sweep.</footer>\n";
    return HtmlPage("Load sweep of " + model, body);
  }

 private:
  std::string Findings() const {
    std::string html = IsSuccess(result_, options_) ? "<div class=\"verdict\"><ul>"
                                                    : "<div class=\"verdict bad\"><ul>";
    for (const std::string& finding : SweepFindings(result_, options_)) {
      html += "<li>" + EscapeHtml(finding) + "</li>";
    }
    html += "</ul></div>\n<div class=\"cards\">\n";
    double highest = 0;
    for (const SweepStep& step : result_.steps) {
      highest = std::max(highest, Mean(step, Throughput().key));
    }
    const std::string unit = options_.open_loop ? "requests/s" : "users";
    html += HtmlCard("Highest throughput", FormatNumber(highest), OutputUnit(generates_), "");
    html += HtmlCard("Saturation knee", result_.knee ? FormatLoad(*result_.knee) : "none",
                     result_.knee ? unit : "", "95% of the highest throughput");
    if (options_.seek_objectives) {
      html += HtmlCard("Keeps the objectives",
                       result_.highest_kept ? FormatLoad(*result_.highest_kept) : "never",
                       result_.highest_kept ? unit : "", ObjectiveNames());
    }
    return html + "</div>\n";
  }

  std::string ObjectiveNames() const {
    std::string names;
    if (result_.steps.empty()) return names;
    for (const ObjectiveResult& objective : result_.steps.front().runs.front().objectives) {
      names += fmt::format("{}{} at most {}", names.empty() ? "" : ", ", objective.objective.name,
                           FormatLimit(objective.objective));
    }
    return names;
  }

  // There is a step.
  const RunFigure& Throughput() const { return ThroughputOf(result_.steps.front().runs.front()); }

  static double Mean(const SweepStep& step, std::string_view key) {
    return IntervalOf(step.runs, FigureOf(key)).mean;
  }

  PlotSeries Series(const Line& line) const {
    PlotSeries series{.name = line.name, .colour = line.colour, .points = {}};
    const RunFigure& figure = FigureOf(line.figure);
    for (const SweepStep& step : result_.steps) {
      const Interval interval = IntervalOf(step.runs, figure);
      if (interval.sample_count == 0) continue;
      PlotPoint point{step.load, interval.mean, {}, {}};
      if (interval.sample_count > 1) {
        point.low = std::max(interval.low, 0.0);
        point.high = interval.high;
      }
      series.points.push_back(point);
    }
    return series;
  }

  Plot AgainstLoad(std::string title, std::string caption, PlotAxis y,
                   const std::vector<Line>& lines) const {
    Plot plot;
    plot.title = std::move(title);
    plot.caption = std::move(caption);
    plot.x = {.label = load_name_, .logarithmic = true, .max = std::nullopt};
    plot.y = std::move(y);
    for (const Line& line : lines) plot.series.push_back(Series(line));
    if (result_.knee) plot.x_marks.push_back({*result_.knee, "knee"});
    for (const Line& line : lines) {
      for (const ObjectiveResult& objective : result_.steps.front().runs.front().objectives) {
        if (objective.objective.name != line.figure) continue;
        plot.y_marks.push_back(
            {objective.objective.limit, "objective " + objective.objective.name});
      }
    }
    return plot;
  }

  // Latency over throughput: how much of one costs how much of the other.
  Plot Tradeoff() const {
    Plot plot;
    plot.title = "Latency against throughput";
    plot.caption = "a point a load, joined in the order of the loads";
    plot.x = {.label = std::string(Throughput().title), .max = std::nullopt};
    plot.y = Latency();
    std::vector<Line> lines = {{"itl_p50", "inter-token latency p50", 1},
                               {"ttft_p50", "time to first token p50", 3}};
    if (!generates_) lines = {{"e2e_p50", "end to end p50", 1}, {"e2e_p99", "end to end p99", 2}};
    for (Line& line : lines) {
      PlotSeries series{.name = std::move(line.name), .colour = line.colour, .points = {}};
      for (const SweepStep& step : result_.steps) {
        const Interval latency = IntervalOf(step.runs, FigureOf(line.figure));
        if (latency.sample_count == 0) continue;
        series.points.push_back({Mean(step, Throughput().key), latency.mean, {}, {}});
      }
      plot.series.push_back(std::move(series));
    }
    return plot;
  }

  static PlotAxis Latency() {
    return {.label = "latency",
            .unit = PlotUnit::kMilliseconds,
            .logarithmic = true,
            .max = std::nullopt};
  }

  std::string Plots() const {
    if (result_.steps.empty()) return "";
    const std::string repeats = fmt::format("means of {} repeats", options_.repeats);
    std::string html = "<h2>Against load</h2>\n<div class=\"plots\">\n";
    html += RenderPlot(AgainstLoad("Throughput", repeats,
                                   {.label = std::string(Throughput().title), .max = std::nullopt},
                                   {{Throughput().key, std::string(Throughput().title), 3}}));
    if (generates_) {
      html += RenderPlot(AgainstLoad("Time to first token", repeats, Latency(),
                                     {{"ttft_p50", "p50", 1}, {"ttft_p99", "p99", 2}}));
      html += RenderPlot(AgainstLoad("Inter-token latency", repeats, Latency(),
                                     {{"itl_p50", "p50", 1}, {"itl_p99", "p99", 2}}));
    }
    html += RenderPlot(AgainstLoad("End to end", repeats, Latency(),
                                   {{"e2e_p50", "p50", 1}, {"e2e_p99", "p99", 2}}));
    html += RenderPlot(
        AgainstLoad("Requests", repeats, {.label = "a second", .max = std::nullopt},
                    {{"requests_per_s", "succeeded/s", 1}, {"goodput_per_s", "goodput/s", 3}}));
    html += RenderPlot(Tradeoff());
    return html + "</div>\n";
  }

  std::string Table() const {
    std::string html =
        fmt::format("<div class=\"table\"><table><thead><tr><th>{}</th>", load_name_);
    std::vector<const RunFigure*> figures;
    for (const RunFigure& figure : RunFigures()) {
      bool known = false;
      for (const SweepStep& step : result_.steps) {
        known = known || IntervalOf(step.runs, figure).sample_count > 0;
      }
      if (!known) continue;
      figures.push_back(&figure);
      html += "<th>" + EscapeHtml(figure.title) + "</th>";
    }
    if (options_.seek_objectives) html += "<th>objectives</th>";
    html += "</tr></thead><tbody>\n";
    for (const SweepStep& step : result_.steps) html += Row(step, figures);
    return html + "</tbody></table></div>\n";
  }

  std::string Row(const SweepStep& step, const std::vector<const RunFigure*>& figures) const {
    std::string html = "<tr><th>" + FormatLoad(step.load) + "</th>";
    for (const RunFigure* figure : figures) {
      const Interval interval = IntervalOf(step.runs, *figure);
      std::string cell = interval.sample_count == 0 ? "" : FormatFigure(*figure, interval.mean);
      if (interval.sample_count > 1) {
        cell += " ±" + FormatFigure(*figure, interval.high - interval.mean);
      }
      html += "<td>" + EscapeHtml(cell) + "</td>";
    }
    if (options_.seek_objectives) {
      const char* verdict = KeepsObjectives(step) ? "kept" : "missed";
      html += fmt::format("<td class=\"{}\">{}</td>", KeepsObjectives(step) ? "met" : "missed",
                          verdict);
    }
    return html + "</tr>\n";
  }

  std::string Setup() const {
    std::string html =
        "<h2>Runs</h2>\n<div class=\"table words\"><table><thead><tr><th>load</th><th>plan</th>"
        "<th>faults</th></tr></thead><tbody>\n";
    for (const SweepStep& step : result_.steps) {
      std::string faults;
      for (size_t repeat = 0; repeat < step.runs.size(); ++repeat) {
        for (const Fault& fault : step.runs[repeat].faults) {
          faults +=
              fmt::format("{}repeat {}: {}", faults.empty() ? "" : "; ", repeat + 1, fault.text);
        }
      }
      fmt::format_to(std::back_inserter(html), "<tr><th>{:.4g}</th><td>{}</td><td>{}</td></tr>\n",
                     step.load, EscapeHtml(step.runs.front().plan), EscapeHtml(faults));
    }
    return html + "</tbody></table></div>\n";
  }

  const SweepResult& result_;
  const SweepOptions& options_;
  bool generates_;  // text, whose tokens come one by one
  std::string load_name_;
};

}  // namespace

std::string SweepHtml(const SweepResult& result, const SweepOptions& options) {
  return SweepPage(result, options).Render();
}

}  // namespace weft
