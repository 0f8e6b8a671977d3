#pragma once
// A nest of loops over several strided operands of one shape.
//
// Most tensors are contiguous, so most nests fold into one long row: neighbouring axes merge wherever every operand
// steps evenly from one to the next, and axes of size 1 disappear. What is left is walked row by row; the kernels
// only ever write the loop over a row.

#include <array>
#include <cstdint>
#include <span>

namespace reel::kernels {

using std::int64_t;
using Sizes = std::span<const int64_t>;

/// How many places there are along all of the axes together.
inline int64_t product(Sizes sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

/// The folded loops over N operands; strides[n] are those of operand n, in elements.
template <std::size_t N>
class Nest {
 public:
  Nest(Sizes sizes, const std::array<Sizes, N>& strides) {
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] == 1) continue;
      bool merges = rank_ > 0;
      for (std::size_t n = 0; n < N; ++n) {
        merges = merges && strides_[n][rank_ - 1] == strides[n][axis] * sizes[axis];
      }
      if (merges) {
        sizes_[rank_ - 1] *= sizes[axis];
      } else {
        sizes_[rank_++] = sizes[axis];
      }
      for (std::size_t n = 0; n < N; ++n) strides_[n][rank_ - 1] = strides[n][axis];
    }
    if (rank_ == 0) {  // a single element is a row of one
      sizes_[rank_++] = 1;
    }
  }

  /// The innermost loop: its length, and the stride of operand n along it.
  int64_t row_length() const { return sizes_[rank_ - 1]; }
  int64_t row_stride(std::size_t n) const { return strides_[n][rank_ - 1]; }

  int64_t rows() const {
    int64_t count = 1;
    for (std::size_t axis = 0; axis + 1 < rank_; ++axis) count *= sizes_[axis];
    return count;
  }

  /// Where row `row` starts in each operand.
  std::array<int64_t, N> offsets(int64_t row) const {
    std::array<int64_t, N> result{};
    for (std::size_t axis = rank_ - 1; axis-- > 0;) {
      int64_t index = row % sizes_[axis];
      row /= sizes_[axis];
      for (std::size_t n = 0; n < N; ++n) result[n] += index * strides_[n][axis];
    }
    return result;
  }

 private:
  static constexpr std::size_t max_axes = 8;
  std::size_t rank_ = 0;
  std::array<int64_t, max_axes> sizes_{};
  std::array<std::array<int64_t, max_axes>, N> strides_{};
};

}  // namespace reel::kernels
