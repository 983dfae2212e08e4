#include "loadtest/report/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "loadtest/report/axis.h"
#include "loadtest/report/format.h"
#include "loadtest/report/html_page.h"

namespace weft {
namespace {

// The picture, in its own units; margins hold labels of up to 18 units' height.
constexpr double kPlotWidth = 560, kPlotHeight = 300;
constexpr double kPlotLeft = 70, kPlotRight = kPlotWidth - 16, kPlotTop = 38,
                 kPlotBottom = kPlotHeight - 56;
constexpr double kLogarithmicFactor = 30;
constexpr double kMostBarShare = 1.5;  // of the highest point: what error bars may add
constexpr size_t kMostColumns = 100;   // with titles
constexpr size_t kMostMarkers = 40;    // of a line: more would hide it

struct Range {
  double min = std::numeric_limits<double>::infinity();
  double max = 0;
  bool positive = true;

  void Add(double value) {
    positive = positive && value > 0;
    if (value > 0) min = std::min(min, value);
    max = std::max(max, value);
  }
};

AxisScale MakeScale(const PlotAxis& axis, Range range, double first, double last) {
  if (axis.max) range.max = *axis.max;
  const bool logarithmic =
      axis.logarithmic && range.positive && range.max > kLogarithmicFactor * range.min;
  return {logarithmic ? range.min : 0, range.max, logarithmic, first, last};
}

class PlotRenderer {
 public:
  explicit PlotRenderer(const Plot& plot)
      : plot_(plot),
        x_(MakeScale(plot.x, RangeOf(&PlotPoint::x, plot.x_marks), kPlotLeft, kPlotRight)),
        y_(MakeScale(plot.y, RangeOf(&PlotPoint::y, plot.y_marks), kPlotBottom, kPlotTop)) {}

  std::string Render() {
    Add("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kPlotWidth, kPlotHeight,
        EscapeHtml(plot_.title));
    AddAxes();
    for (const PlotSeries& series : plot_.series) AddSeries(series);
    AddMarks();
    AddColumns();
    svg_ += "</svg>";
    return std::move(svg_);
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }

  Range RangeOf(double PlotPoint::*member, const std::vector<PlotMark>& marks) const {
    Range range;
    double high = 0;
    for (const PlotSeries& series : plot_.series) {
      for (const PlotPoint& point : series.points) {
        range.Add(point.*member);
        if (member == &PlotPoint::y) high = std::max(high, point.high.value_or(0));
      }
    }
    // Error bars of few repeats may be many times as long as everything else: they are cut.
    range.max = std::max(range.max, std::min(high, kMostBarShare * range.max));
    for (const PlotMark& mark : marks) range.Add(mark.value);
    return range;
  }

  void AddAxes() {
    for (const double tick : y_.ticks()) {
      const double y = y_.Place(tick);
      Add("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kPlotLeft,
          kPlotRight, y, y);
      Add("<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>", kPlotLeft - 8,
          y + 4, FormatTick(tick, plot_.y.unit));
    }
    for (const double tick : x_.ticks()) {
      const double x = x_.Place(tick);
      Add("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", x, x, kPlotTop,
          kPlotBottom);
      // The last label must not leave the picture.
      Add("<text class=\"tick\" text-anchor=\"{}\" x=\"{:.1f}\" y=\"{}\">{}</text>",
          x > kPlotRight - 20 ? "end" : "middle", x > kPlotRight - 20 ? kPlotRight + 12 : x,
          kPlotBottom + 22, FormatTick(tick, plot_.x.unit));
    }
    Add("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", kPlotLeft, kPlotRight,
        kPlotBottom, kPlotBottom);
    Add("<text class=\"label\" text-anchor=\"start\" x=\"2\" y=\"17\">{}</text>",
        EscapeHtml(plot_.y.label));
    Add("<text class=\"label\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>",
        (kPlotLeft + kPlotRight) / 2, kPlotHeight - 8, EscapeHtml(plot_.x.label));
  }

  void AddSeries(const PlotSeries& series) {
    if (series.points.empty()) return;
    std::string path;
    double previous_y = 0;
    for (const PlotPoint& point : series.points) {
      const double x = x_.Place(point.x), y = y_.Place(point.y);
      if (path.empty()) {
        path = fmt::format("M{:.1f} {:.1f}", x, y);
      } else if (series.stepped) {
        path += fmt::format("H{:.1f}V{:.1f}", x, y);
      } else {
        path += fmt::format("L{:.1f} {:.1f}", x, y);
      }
      previous_y = y;
    }
    if (series.filled) {
      Add("<path class=\"fill s{}\" d=\"{}V{:.1f}H{:.1f}Z\"/>", series.colour, path, kPlotBottom,
          x_.Place(series.points.front().x));
    }
    if (series.points.size() > 1) {
      Add("<path class=\"line s{}\" d=\"{}\"/>", series.colour, path);
    } else {
      Add("<circle class=\"dot s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>", series.colour,
          x_.Place(series.points.front().x), previous_y);
    }
    AddErrorBars(series);
  }

  void AddErrorBars(const PlotSeries& series) {
    for (const PlotPoint& point : series.points) {
      const double x = x_.Place(point.x);
      if (point.low && point.high) {
        const double low = y_.Place(*point.low), high = y_.Place(*point.high);
        Add("<path class=\"bar s{}\" d=\"M{:.1f} {:.1f}V{:.1f}M{:.1f} {:.1f}h8M{:.1f} {:.1f}h8\"/>",
            series.colour, x, low, high, x - 4, low, x - 4, high);
      }
      if (!series.stepped && !series.filled && series.points.size() > 1 &&
          series.points.size() <= kMostMarkers) {
        Add("<circle class=\"dot s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>", series.colour, x,
            y_.Place(point.y));
      }
    }
  }

  void AddMarks() {
    for (const PlotMark& mark : plot_.y_marks) {
      const double y = y_.Place(mark.value);
      Add("<line class=\"mark\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kPlotLeft,
          kPlotRight, y, y);
      Add("<text class=\"marked\" text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>",
          kPlotRight - 4, y < kPlotTop + 18 ? y + 15 : y - 5, EscapeHtml(mark.label));
    }
    for (const PlotMark& mark : plot_.x_marks) {
      const double x = x_.Place(mark.value);
      const bool left_of_it = x > (kPlotLeft + kPlotRight) / 2;
      Add("<line class=\"mark\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", x, x, kPlotTop,
          kPlotBottom);
      Add("<text class=\"marked\" text-anchor=\"{}\" x=\"{:.1f}\" y=\"{}\">{}</text>",
          left_of_it ? "end" : "start", left_of_it ? x - 5 : x + 5, kPlotTop + 13,
          EscapeHtml(mark.label));
    }
  }

  // Where the columns are: at every x if that is not many, else evenly over the axis.
  std::vector<double> ColumnPlaces() const {
    std::set<double> places;
    for (const PlotSeries& series : plot_.series) {
      for (const PlotPoint& point : series.points) places.insert(x_.Place(point.x));
    }
    if (places.size() <= kMostColumns) return {places.begin(), places.end()};
    std::vector<double> even;
    for (size_t i = 0; i <= kMostColumns; ++i) {
      even.push_back(kPlotLeft + (kPlotRight - kPlotLeft) * static_cast<double>(i) / kMostColumns);
    }
    return even;
  }

  void AddColumns() {
    const std::vector<double> places = ColumnPlaces();
    for (size_t i = 0; i < places.size(); ++i) {
      const double from = i == 0 ? kPlotLeft : (places[i - 1] + places[i]) / 2;
      const double to = i + 1 == places.size() ? kPlotRight : (places[i] + places[i + 1]) / 2;
      const double x = x_.Value(places[i]);
      std::string title = plot_.x.label + " " + FormatTick(x, plot_.x.unit);
      for (const PlotSeries& series : plot_.series) {
        if (const PlotPoint* point = PointAt(series, places[i])) {
          title += "\n" + series.name + ": " + FormatTick(point->y, plot_.y.unit);
          if (point->low && point->high) {
            title += fmt::format(" ({} to {})", FormatTick(*point->low, plot_.y.unit),
                                 FormatTick(*point->high, plot_.y.unit));
          }
        }
      }
      Add("<rect class=\"hit\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{}"
          "</title></rect>",
          from, kPlotTop, std::max(to - from, 0.1), kPlotBottom - kPlotTop, EscapeHtml(title));
    }
  }

  // The last one at or before a place.
  const PlotPoint* PointAt(const PlotSeries& series, double place) const {
    const PlotPoint* found = nullptr;
    for (const PlotPoint& point : series.points) {
      if (x_.Place(point.x) <= place + 1e-6) found = &point;
    }
    return found;
  }

  const Plot& plot_;
  AxisScale x_;
  AxisScale y_;
  std::string svg_;
};

bool HasPoints(const Plot& plot) {
  return std::any_of(plot.series.begin(), plot.series.end(),
                     [](const PlotSeries& series) { return !series.points.empty(); });
}

}  // namespace

std::string FormatTick(double value, PlotUnit unit) {
  // Four digits that count, no more: ticks are round.
  const auto plain = [](double number) {
    return std::abs(number) >= 1000 ? FormatCount(std::llround(number))
                                    : fmt::format("{:.4g}", number);
  };
  switch (unit) {
    case PlotUnit::kShare:
      return plain(value * 100) + "%";
    case PlotUnit::kSeconds:
      return plain(value) + " s";
    case PlotUnit::kMilliseconds:
      if (value == 0) return "0";
      if (value < 0.9999) return plain(value * 1000) + " us";
      return value < 999.9 ? plain(value) + " ms" : plain(value / 1000) + " s";
    case PlotUnit::kNumber:
      break;
  }
  return plain(value);
}

std::string RenderPlot(const Plot& plot) {
  std::string figure =
      fmt::format("<figure class=\"plot\"><figcaption><b>{}</b><span>{}</span></figcaption>",
                  EscapeHtml(plot.title), EscapeHtml(plot.caption));
  if (!HasPoints(plot)) return figure + "<p class=\"none\">no sample</p></figure>\n";
  figure += "<ul class=\"legend\">";
  for (const PlotSeries& series : plot.series) {
    if (series.points.empty()) continue;
    figure +=
        fmt::format("<li><i class=\"s{}\"></i>{}</li>", series.colour, EscapeHtml(series.name));
  }
  return figure + "</ul>" + PlotRenderer(plot).Render() + "</figure>\n";
}

}  // namespace weft
