#include "apps/report/chart.h"

#include <algorithm>
#include <limits>
#include <span>

#include "apps/common/numbers.h"
#include "apps/report/html.h"
#include "autograd/error.h"

namespace reel::apps {

namespace {

constexpr std::size_t most_buckets = 400;
constexpr std::size_t most_dots = 60;  // a series with more is a line without them
constexpr std::size_t colours = 6;

// in the units of the drawing
constexpr double width = 480, height = 270;
constexpr double left = 54, right = width - 14, top = 10, bottom = height - 28;

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

/// A series as it is drawn.
struct Curve {
  std::string name;
  std::string colour;  // a class
  std::vector<Bucket> band;
  std::vector<Point> line;
  bool dotted;
  Extent x;
};

Curve make_curve(const Series& series, std::size_t number, const ChartOptions& options) {
  const std::vector<Point> points = drawable(series.points);
  Curve curve{series.name, text("series-", number % colours), {}, {}, points.size() <= most_dots, {}};
  for (const Point& point : points) curve.x.add(point.x);
  std::vector<Bucket> buckets = thin(points, most_buckets);
  if (!curve.dotted && options.smooth) {
    curve.line = smooth(buckets);
    curve.band = std::move(buckets);
  } else {
    for (const Bucket& bucket : buckets) curve.line.push_back({bucket.x, bucket.mean});
    if (!points.empty()) curve.line.back() = points.back();  // it ends where the series does
  }
  return curve;
}

/// The two axes, and where on the drawing a point lies.
class Plot {
 public:
  explicit Plot(std::span<const Curve> curves) : x_(0, 1), y_(0, 1) {
    Extent x, y;  // y of the lines alone: a band may reach out of the drawing
    for (const Curve& curve : curves) {
      if (curve.line.empty()) continue;
      x.add(curve.x.low);
      x.add(curve.x.high);
      for (const Point& point : curve.line) y.add(point.y);
    }
    if (y.empty()) return;
    x_ = Axis(is_near_zero(x.low, x.high) ? 0 : x.low, x.high);
    y_ = padded_axis(y.low, y.high);
  }

  std::string place(double x, double y) const {
    return svg_number(across(x_.place(x))) + " " + svg_number(up(y_.place(y)));
  }

  std::string axes(const std::string& x_name) const {
    std::string out = "<g class='axes'>";
    for (const Tick& tick : y_.ticks()) {
      const std::string y = svg_number(up(tick.place));
      out += text("<path d='M", left, " ", y, "H", right, "'/><text class='y' x='", left - 8, "' y='", y,
                  "' dy='.35em'>", tick.label, "</text>");
    }
    for (const Tick& tick : x_.ticks(1)) {
      const std::string x = svg_number(across(tick.place));
      out += text("<path class='mark' d='M", x, " ", bottom, "v4'/><text class='x' x='", x, "' y='", bottom + 19, "'>",
                  tick.label, "</text>");
    }
    out += text("<text class='y' x='", left - 8, "' y='", bottom + 19, "'>", escape_html(x_name), "</text>");
    return out + text("<path class='base' d='M", left, " ", bottom, "H", right, "'/></g>");
  }

 private:
  static double across(double share) { return left + share * (right - left); }
  static double up(double share) { return bottom - share * (bottom - top); }

  Axis x_;
  Axis y_;
};

std::string path(std::string_view name, std::string_view points) {
  return text("<path class='", name, "' d='M", points, "'/>");
}

std::string draw(const Curve& curve, const Plot& plot) {
  if (curve.line.empty()) return {};
  std::string out = "<g class='" + curve.colour + "'>";
  auto join = [](std::string& points, const std::string& place) { points += (points.empty() ? "" : "L") + place; };
  if (!curve.band.empty()) {
    std::string outline;
    for (const Bucket& bucket : curve.band) join(outline, plot.place(bucket.x, bucket.high));
    std::for_each(curve.band.rbegin(), curve.band.rend(),
                  [&](const Bucket& bucket) { join(outline, plot.place(bucket.x, bucket.low)); });
    out += path("band", outline);
  }
  std::string points;
  for (const auto& [x, y] : curve.line) join(points, plot.place(x, y));
  out += path("line", points);
  if (curve.dotted) {
    for (const auto& [x, y] : curve.line) {
      // a line of no length with round ends is a dot
      out += text("<path class='dot' d='M", plot.place(x, y), "h0'><title>", short_number(x, 7), ": ",
                  short_number(y, 5), "</title></path>");
    }
  }
  return out + "</g>";
}

std::string legend_entry(const Curve& curve) {
  std::string last = curve.line.empty() ? "no data" : short_number(curve.line.back().y, 4);
  return text("<li class='", curve.colour, "'><svg viewBox='0 0 22 8' aria-hidden='true'><path class='line' ",
              "d='M2 4H20'/></svg>", escape_html(curve.name), " <b>", last, "</b></li>");
}

}  // namespace

std::string chart_html(std::string_view title, const std::vector<Series>& series, const ChartOptions& options) {
  std::vector<Curve> curves;
  for (const Series& one : series) curves.push_back(make_curve(one, curves.size(), options));
  const Plot plot(curves);

  std::string out = "<figure class='chart'><figcaption>" + escape_html(title) + "</figcaption>\n<ul class='legend'>";
  for (const Curve& curve : curves) out += legend_entry(curve);
  out += text("</ul>\n<svg viewBox='0 0 ", width, " ", height, "' role='img' aria-label='", escape_html(title), "'>",
              plot.axes(options.x_name));
  for (const Curve& curve : curves) out += "\n" + draw(curve, plot);
  return out + "</svg></figure>\n";
}

}  // namespace reel::apps
