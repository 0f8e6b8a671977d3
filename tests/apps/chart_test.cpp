#include "apps/report/chart.h"

#include <cmath>
#include <limits>

#include "tests/apps/html_checker.h"
#include "tests/catch.h"

using namespace reel::apps;

namespace {

std::vector<Point> falling(int count) {
  std::vector<Point> points;
  for (int i = 1; i <= count; ++i) points.push_back({static_cast<double>(i), 4.0 / i + i % 3});
  return points;
}

/// The chart of these points alone, well formed and without a number that is none.
std::string chart_of(const std::vector<Point>& points, const ChartOptions& options = {}) {
  const std::string html = chart_html("loss", {{"train", points}}, options);
  CHECK(html_problem(html) == "");
  CHECK(count_of("nan", html) == 0);
  CHECK(count_of("inf", html) == 0);
  return html;
}

}  // namespace

TEST_CASE("a chart has a caption, a legend with the last values, axes and curves", "[chart]") {
  const std::string html = chart_html(
      "Loss & <more>", {{"train", falling(5000)}, {"\"validation\"", {{10, 2}, {20, 1.5}}}}, {.x_name = "batch"});
  CHECK(html_problem(html) == "");
  CHECK_THAT(html, ContainsSubstring("<figcaption>Loss &amp; &lt;more&gt;</figcaption>"));
  CHECK_THAT(html, ContainsSubstring("&quot;validation&quot; <b>1.5</b>"));
  CHECK_THAT(html, ContainsSubstring(">batch</text>"));
  CHECK_THAT(html, ContainsSubstring(">5000</text>"));
  CHECK(count_of("class='band'", html) == 1);  // of the long one
  CHECK(count_of("class='dot'", html) == 2);   // of the short one
  CHECK_THAT(html, ContainsSubstring("<title>20: 1.5</title>"));
}

TEST_CASE("a curve lies where its points are", "[chart]") {
  // from step 0 to 10, and from 0 up to 8 with a twentieth above
  CHECK_THAT(chart_of({{0, 0}, {5, 4}, {10, 8}}), ContainsSubstring("class='line' d='M54 242L260 131.5L466 21'"));
}

TEST_CASE("a chart of nothing says so", "[chart]") {
  CHECK_THAT(chart_of({}), ContainsSubstring("no data"));
  CHECK_THAT(chart_of({{1, NAN}, {NAN, 1}}), ContainsSubstring("no data"));
  CHECK(html_problem(chart_html("", {})) == "");
}

TEST_CASE("points that are not finite are left out", "[chart]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Point> points{{1, 3}, {2, NAN}, {3, infinity}, {4, -infinity}, {NAN, 1}, {6, 2}};
  CHECK(chart_of(points) == chart_of({{1, 3}, {6, 2}}));
}

TEST_CASE("one point, and points of one height, are drawn in the middle", "[chart]") {
  CHECK_THAT(chart_of({{7, 3}}), ContainsSubstring("class='dot' d='M260 126h0'"));
  CHECK_THAT(chart_of({{0, 3}, {9, 3}}), ContainsSubstring("class='line' d='M54 126L466 126'"));
  CHECK_THAT(chart_of({{0, 0}, {9, 0}}), ContainsSubstring("class='line' d='M54 126L466 126'"));
  chart_of(std::vector<Point>(5000, {3, 3}));
}

TEST_CASE("a million points make a small chart, quickly", "[chart]") {
  CHECK(chart_of(falling(1'000'000)).size() < 30'000);
  CHECK(chart_of(falling(1'000'000), {.smooth = false}).size() < 15'000);
}

TEST_CASE("without smoothing, a corner stays one", "[chart]") {
  std::vector<Point> points;
  for (int i = 0; i <= 300; ++i) points.push_back({static_cast<double>(i), i < 100 ? i / 100.0 : 1.0});
  CHECK(count_of("class='band'", chart_of(points, {.smooth = false})) == 0);
  CHECK_THAT(chart_of(points, {.smooth = false}), ContainsSubstring("L191.3 21L"));
}

TEST_CASE("without smoothing, a long curve ends where its points do", "[chart]") {
  std::vector<Point> points;
  for (int i = 0; i <= 5000; ++i) points.push_back({static_cast<double>(i), 5000.0 - i});
  CHECK_THAT(chart_of(points, {.smooth = false}), ContainsSubstring("<b>0</b></li>"));
}

TEST_CASE("more series than colours begin again", "[chart]") {
  const std::string html = chart_html("many", std::vector<Series>(7, {"s", {{1, 1}}}));
  CHECK(count_of("<g class='series-0'>", html) == 2);
  CHECK(count_of("<g class='series-5'>", html) == 1);
}
