// Line plots as SVG. Colours and fonts come from the page's style sheet (html_page.cc).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft {

struct PlotPoint {
  double x = 0;
  double y = 0;
  // Of an error bar, which is cut where it would make everything else small; none without.
  std::optional<double> low;
  std::optional<double> high;
};

struct PlotSeries {
  std::string name;
  int colour = 1;  // 1 to 4: the style sheet's; one meaning a colour in a report
  std::vector<PlotPoint> points;
  bool filled = false;   // down to the axis
  bool stepped = false;  // a value holds until the next point
};

enum class PlotUnit { kNumber, kMilliseconds, kSeconds, kShare };

struct PlotAxis {
  std::string label;
  PlotUnit unit = PlotUnit::kNumber;
  bool logarithmic = false;  // where all values allow it and they span more than a factor of 30
  std::optional<double> max;
};

// A line across the plot at a value, such as an objective.
struct PlotMark {
  double value = 0;
  std::string label;
};

struct Plot {
  std::string title;
  std::string caption;  // a sentence below the title: what exactly is drawn
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotSeries> series;
  std::vector<PlotMark> x_marks;
  std::vector<PlotMark> y_marks;
};

// A <figure> with title, legend and SVG. Every column of the plot has a title that names the values
// at it. All texts are escaped. A plot without points says so.
std::string RenderPlot(const Plot& plot);

// "1.5 s", "20 ms", "1,000", "50%"
std::string FormatTick(double value, PlotUnit unit);

}  // namespace weft
