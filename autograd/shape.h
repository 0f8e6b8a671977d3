#pragma once
// Shapes, strides and the broadcasting rule.
//
// A shape is a short list of sizes, one per axis; strides are how many elements apart two neighbours along an axis lie.
// Both are held inline, because every tensor carries two of them. Negative axes, counted from the end, are for
// operations and Tensor::size(), not for Dims.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>

namespace reel {

using std::int64_t;

constexpr int max_rank = 8;

/// Up to max_rank integers, one for each axis.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values);
  explicit Dims(std::span<const int64_t> values);
  /// `rank` axes, each `value`
  static Dims filled(int rank, int64_t value);

  int rank() const { return rank_; }
  /// Throws unless 0 <= axis < rank().
  int64_t& operator[](int axis) { return values_[place(axis)]; }
  int64_t operator[](int axis) const { return values_[place(axis)]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + rank_; }

  void append(int64_t value);
  /// Before this axis, or behind the last one. Throws unless 0 <= axis <= rank(), and at more than max_rank axes.
  void insert(int axis, int64_t value);
  /// Throws unless 0 <= axis < rank().
  void erase(int axis);

  friend bool operator==(const Dims& a, const Dims& b);
  /// (2, 3), (3,), ()
  friend std::ostream& operator<<(std::ostream& out, const Dims& dims);

 private:
  std::size_t place(int axis) const {
    if (axis < 0 || axis >= rank_) fail_axis(axis);
    return static_cast<std::size_t>(axis);
  }
  [[noreturn]] void fail_axis(int axis) const;

  std::array<int64_t, max_rank> values_{};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

/// How many elements: the product of the sizes; 1 for the 0-d shape ().
int64_t numel(const Shape& shape);

/// Throws, naming `operation`, if a size is negative, or if strides or bytes of that shape would overflow int64_t.
void check_size(const char* operation, const Shape& shape);

/// `shape`, its one -1 replaced by the size that makes it hold as many elements as `from`. Throws where none does.
Shape complete(const char* operation, Shape shape, const Shape& from);

/// All axes but the last few.
Dims leading(const Dims& dims, int last);

/// Row-major: the last axis has stride 1.
Strides contiguous_strides(const Shape& shape);

bool is_contiguous(const Shape& shape, const Strides& strides);

/// Whether the elements along each axis lie beyond all those along axes of smaller strides, as in every view but those
/// of expand(). Then no two elements share a place.
bool strides_nest(const Shape& shape, const Strides& strides);

/// `axis` counted from the front, in 0 .. rank - 1. Throws, naming `operation`, where there is no such axis.
int normal_axis(const char* operation, int axis, int rank);
/// The same where an axis is to be added: in 0 .. rank.
int new_axis(const char* operation, int axis, const Shape& shape);

/// NumPy's rule: aligned at the last axis, sizes are equal, or one of them is 1, or missing. Throws otherwise.
Shape broadcast(const char* operation, const Shape& a, const Shape& b);

/// Whether a tensor of the shape `from` can be read as one of the shape `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

/// The strides that read a tensor of `shape` as if it had the shape `to`: 0 along every axis that is repeated.
Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& to);

}  // namespace reel
