#include "apps/report/thinning.h"

#include <algorithm>
#include <cmath>

namespace reel::apps {

std::vector<Point> drawable(std::span<const Point> points) {
  static constexpr double largest = 1e100;  // sums and differences stay finite
  std::vector<Point> out;
  std::copy_if(points.begin(), points.end(), std::back_inserter(out),
               [](const Point& p) { return std::abs(p.x) <= largest && std::abs(p.y) <= largest; });
  std::stable_sort(out.begin(), out.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  return out;
}

std::vector<Bucket> thin(std::span<const Point> points, std::size_t most) {
  std::vector<Bucket> out;
  if (points.size() <= most) {
    for (const auto& [x, y] : points) out.push_back({x, y, y, y});
    return out;
  }
  const double first = points.front().x;
  const double stretch = (points.back().x - first) / static_cast<double>(most);
  for (std::size_t begin = 0; begin < points.size();) {
    const double end_x = first + stretch * (std::floor((points[begin].x - first) / stretch) + 1);
    Bucket bucket{0, 0, points[begin].y, points[begin].y};
    std::size_t end = begin;
    // The first point always belongs, wherever rounding puts the border; the last bucket takes in the end of the range.
    do {
      const auto& [x, y] = points[end];
      const double share = 1 / static_cast<double>(++end - begin);
      bucket.x += (x - bucket.x) * share;
      bucket.mean += (y - bucket.mean) * share;
      bucket.low = std::min(bucket.low, y);
      bucket.high = std::max(bucket.high, y);
    } while (end < points.size() && !(points[end].x >= end_x && points[end].x < points.back().x));
    out.push_back(bucket);
    begin = end;
  }
  return out;
}

std::vector<Point> smooth(std::span<const Bucket> buckets) {
  std::vector<Point> out;
  if (buckets.empty()) return out;
  const double first = buckets.front().x;
  const double widest = (buckets.back().x - first) / 30;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const double x = buckets[i].x;
    const double reach = std::min(widest, (x - first) / 5);
    double sum = buckets[i].mean;
    double weights = 1;
    auto add = [&](const Bucket& bucket) {
      const double weight = 1 - std::abs(bucket.x - x) / reach;
      if (!(weight > 0)) return false;
      sum += weight * bucket.mean;
      weights += weight;
      return true;
    };
    for (std::size_t j = i; j > 0 && add(buckets[j - 1]);) --j;
    for (std::size_t j = i + 1; j < buckets.size() && add(buckets[j]);) ++j;
    out.push_back({x, sum / weights});
  }
  return out;
}

}  // namespace reel::apps
