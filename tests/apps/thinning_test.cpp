#include "apps/report/thinning.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/catch.h"

using namespace reel::apps;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class F>
std::vector<Point> points_of(int count, F y) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({static_cast<double>(i), static_cast<double>(y(i))});
  return points;
}

}  // namespace

TEST_CASE("points that cannot be drawn are left out, the others come in order", "[thinning]") {
  const std::vector<Point> points{{3, 1},        {1, NAN}, {NAN, 1}, {2, infinity}, {2, -infinity},
                                  {infinity, 1}, {1, 5},   {1, 4},   {0, 1.1e100},  {-7, -1e100}};
  const std::vector<Point> left = drawable(points);
  REQUIRE(left.size() == 4);
  CHECK(left[0].x == -7);
  CHECK(left[1].y == 5);  // equal ones as they came
  CHECK(left[2].y == 4);
  CHECK(left[3].x == 3);
  CHECK(drawable({}).empty());
}

TEST_CASE("few points stay as they are", "[thinning]") {
  const std::vector<Point> points = points_of(5, [](int i) { return i * i; });
  const std::vector<Bucket> buckets = thin(points, 5);
  REQUIRE(buckets.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(buckets[i].x == points[i].x);
    CHECK(buckets[i].mean == points[i].y);
    CHECK(buckets[i].low == points[i].y);
    CHECK(buckets[i].high == points[i].y);
  }
  CHECK(thin({}, 5).empty());
}

TEST_CASE("many points become the mean and range of each stretch", "[thinning]") {
  const std::vector<Bucket> buckets = thin(points_of(1001, [](int i) { return i % 2 ? 3 : 1; }), 10);
  REQUIRE(buckets.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(buckets[i].x == Approx(100 * static_cast<double>(i) + 49.5).margin(0.51));
    CHECK(buckets[i].mean == Approx(2).margin(0.011));
    CHECK(buckets[i].low == 1);
    CHECK(buckets[i].high == 3);
  }
}

TEST_CASE("no point gets lost, wherever it lies", "[thinning]") {
  // gaps, heaps, and borders that rounding moves
  for (double scale : {1.0, 1e-9, 1e15, 1.0 / 3}) {
    std::vector<Point> points;
    for (int i = 0; i < 3000; ++i) {
      const double x = (i < 1000 ? i * 0.1 : i < 2000 ? 500 : 1e6 + i) * scale;
      points.push_back({x, static_cast<double>(i % 7)});
    }
    const std::vector<Bucket> buckets = thin(points, 400);
    CHECK(buckets.size() <= 400);
    CHECK(std::is_sorted(buckets.begin(), buckets.end(), [](const Bucket& a, const Bucket& b) { return a.x < b.x; }));
    double low = infinity, high = -infinity;
    for (const Bucket& bucket : buckets) {
      CHECK(bucket.low <= bucket.mean);
      CHECK(bucket.mean <= bucket.high);
      low = std::min(low, bucket.low);
      high = std::max(high, bucket.high);
    }
    CHECK(low == 0);
    CHECK(high == 6);
  }
}

TEST_CASE("points in one place become one bucket, enormous ones stay finite", "[thinning]") {
  std::vector<Point> points(1000, {5, 1e100});
  points.back().y = -1e100;
  const std::vector<Bucket> buckets = thin(points, 400);
  REQUIRE(buckets.size() == 1);
  CHECK(buckets[0].x == 5);
  CHECK(std::isfinite(buckets[0].mean));
  CHECK(buckets[0].low == -1e100);
}

TEST_CASE("smoothing takes the noise off and leaves lines and the start as they are", "[thinning]") {
  auto smoothed = [](auto y) { return smooth(thin(points_of(401, y), 401)); };
  for (const Point& point : smoothed([](int) { return 2.5; })) CHECK(point.y == Approx(2.5));

  const std::vector<Point> noisy = smoothed([](int i) { return i % 2 ? 1.0 : -1.0; });
  for (std::size_t i = 50; i < noisy.size(); ++i) CHECK(std::abs(noisy[i].y) < 0.2);

  const std::vector<Point> rising = smoothed([](int i) { return 3.0 * i; });
  for (std::size_t i = 0; i + 14 < rising.size(); ++i)
    CHECK(rising[i].y == Approx(3.0 * static_cast<double>(i)).margin(1e-9));

  auto fall = [](int i) { return 10 * std::exp(-i / 3.0); };
  const std::vector<Point> falling = smoothed(fall);
  for (int i = 0; i < 401; ++i) CHECK(falling[static_cast<std::size_t>(i)].y == Approx(fall(i)).margin(0.1));

  CHECK(smooth({}).empty());
  const std::vector<Bucket> one{{4, 2, 2, 2}};
  CHECK(smooth(one)[0].y == 2);
}
