#pragma once
// Ids: a shaped, contiguous array of 32-bit integers for what is counted and never differentiated: token ids, labels,
// positions, argmax results, and yes/no conditions (1 and 0). A type of its own, so that mixing up ids and values
// does not compile. Unlike tensors, Ids are values: a copy stays as it was, whatever is written to the other, and so
// does what a tape keeps for its derivatives.

#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "autograd/shape.h"

namespace reel {

/// How many things ids can tell apart: 0 to 2³¹ - 1.
inline constexpr int64_t most_ids = int64_t{1} << 31;

class Ids {
 public:
  Ids() : Ids(Shape{0}, {}) {}
  /// Takes `values` in row-major order. Throws unless there are numel(shape) of them.
  Ids(Shape shape, std::vector<std::int32_t> values);
  /// One axis.
  explicit Ids(std::vector<std::int32_t> values);
  static Ids zeros(Shape shape);
  /// 0, 1, ..., count - 1
  static Ids arange(int64_t count);

  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t size(int axis) const { return shape_[normal_axis("Ids::size", axis, rank())]; }
  int64_t numel() const { return std::ssize(values_); }

  const std::int32_t* data() const { return values_.data(); }
  std::int32_t* data() { return values_.data(); }
  std::span<const std::int32_t> values() const { return values_; }
  std::span<std::int32_t> values() { return values_; }

  /// The same values under another shape, in which one size may be -1: what is left.
  Ids view(Shape shape) const;
  /// With a new axis of size 1.
  Ids unsqueeze(int axis) const;

 private:
  Shape shape_;
  std::vector<std::int32_t> values_;
};

/// Throws, naming `operation`, unless every id is in 0 .. size - 1.
void check_indices(const char* operation, const Ids& ids, int64_t size);

/// 1 where an id is `value`, 0 elsewhere.
Ids eq(const Ids& ids, std::int32_t value);

}  // namespace reel
