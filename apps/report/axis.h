#pragma once
// An axis of a chart: which numbers it spans, where each lies on it, and the round ones that are marked.

#include <string>
#include <vector>

namespace reel::apps {

struct Tick {
  double place;  // 0 at the low end of the axis, 1 at the high end
  std::string label;
};

class Axis {
 public:
  /// Spans at least low to high; what is hardly a range spans some around it. Magnitudes up to 1e150.
  Axis(double low, double high);

  /// Between 0 and 1; what lies outside comes to the nearer end.
  double place(double value) const;

  /// A few round numbers, `least_step` or more apart: on an axis of steps, nothing is at 0.5.
  std::vector<Tick> ticks(double least_step = 0) const;

 private:
  double low_;
  double high_;
};

/// Whether an axis from low to high had better begin at 0.
bool is_near_zero(double low, double high);

/// A range of y values with room above and below, or down to 0 where that is near.
Axis padded_axis(double low, double high);

}  // namespace reel::apps
