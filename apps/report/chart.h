#pragma once
// Curves as a drawing in SVG, for a page of HTML.
//
// A long series is thinned to 400 buckets. It is drawn as a line through their smoothed means, above its range, low to
// high, as a faint band: what noise hides is seen, and that there is noise. A short one is drawn point by point.

#include <string>
#include <string_view>
#include <vector>

#include "apps/report/axis.h"
#include "apps/report/thinning.h"

namespace reel::apps {

struct Series {
  std::string name;
  std::vector<Point> points;
};

struct ChartOptions {
  std::string x_name = "step";  // something counted: only whole numbers are marked
  bool smooth = true;           // not where every turn is meant, as in a learning rate
};

/// A <figure> with a caption, a legend (each name, and where its line ends) and the drawing. Points that are not finite
/// are left out. Colours are classes series-0 to series-5, which a style sheet defines.
std::string chart_html(std::string_view title, const std::vector<Series>& series, const ChartOptions& options = {});

}  // namespace reel::apps
