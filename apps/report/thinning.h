#pragma once
// From the points of a long run, a million perhaps, to the few hundred that a curve of a few hundred pixels can show.

#include <cstddef>
#include <span>
#include <vector>

namespace reel::apps {

struct Point {
  double x;
  double y;
};

/// Neighbouring points as one: their mean, and the range of their y.
struct Bucket {
  double x;
  double mean;
  double low;
  double high;
};

/// The points in the order of x, without those that cannot be drawn: NaN, infinity, or beyond 1e100.
std::vector<Point> drawable(std::span<const Point> points);

/// Cuts the range of x into `most` equal stretches; the points in each become a bucket. Where there are no more than
/// `most` points, each is a bucket of its own. The points as drawable() gives them.
std::vector<Bucket> thin(std::span<const Point> points, std::size_t most);

/// The means, each averaged with its neighbours, the near ones counting most. A thirtieth of the range of x to either
/// side takes part, but only a fifth of the way back to the first bucket: the fall at the start, the steepest part of
/// a loss, stays as steep as it is.
std::vector<Point> smooth(std::span<const Bucket> buckets);

}  // namespace reel::apps
