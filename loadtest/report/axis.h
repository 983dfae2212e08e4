// From values to places on a plot's axis, and where its ticks are.
#pragma once

#include <vector>

namespace weft {

class AxisScale {
 public:
  // From 0, or if `logarithmic` from a round value at or below `min`, to a round value at or above
  // `max`; `first` and `last` are where these lie in the picture. Requires 0 <= min <= max, and
  // with `logarithmic` 0 < min.
  AxisScale(double min, double max, bool logarithmic, double first, double last);

  double Place(double value) const;  // what lies outside is put at the end
  double Value(double place) const;
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double Position(double value) const;

  double min_ = 0;
  double max_ = 1;
  bool logarithmic_;
  double first_;
  double last_;
  std::vector<double> ticks_;
};

}  // namespace weft
