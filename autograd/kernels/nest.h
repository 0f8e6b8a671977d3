#pragma once
// A nest of loops over several strided operands of one shape.
//
// Most tensors are contiguous, so most nests fold into one long row: neighbouring axes merge wherever every operand
// steps evenly from one to the next, and axes of size 1 disappear. What is left is walked row by row; the kernels
// only ever write the loop over a row.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "autograd/kernels/parallel.h"

namespace reel::kernels {

using std::int64_t;
using Sizes = std::span<const int64_t>;

/// How many places there are along all of the axes together.
inline int64_t product(Sizes sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

/// The axis along which elements lie next to each other; -1 if there is none.
inline int dense_axis(Sizes sizes, Sizes strides) {
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    if (strides[axis] == 1 && sizes[axis] > 1) return static_cast<int>(axis);
  }
  return -1;
}

/// So many loops a Nest has room for.
inline constexpr int max_axes = 8;

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
  std::array<int64_t, N> offsets(int64_t row) const { return Row(*this, row).offsets; }

  /// A row, from which one can go on to the next: that takes no divisions.
  struct Row {
    std::array<int64_t, N> offsets{};  // where it starts in each operand

    Row(const Nest& nest, int64_t row) : nest_(nest) {
      for (std::size_t axis = nest.rank_ - 1; axis-- > 0;) {
        index_[axis] = row % nest.sizes_[axis];
        row /= nest.sizes_[axis];
        move(axis, index_[axis]);
      }
    }

    /// The last one is followed by the first.
    void next() {
      for (std::size_t axis = nest_.rank_ - 1; axis-- > 0;) {
        move(axis, 1);
        if (++index_[axis] < nest_.sizes_[axis]) return;
        move(axis, -index_[axis]);
        index_[axis] = 0;
      }
    }

   private:
    void move(std::size_t axis, int64_t steps) {
      for (std::size_t n = 0; n < N; ++n) offsets[n] += steps * nest_.strides_[n][axis];
    }

    const Nest& nest_;
    std::array<int64_t, max_axes> index_{};
  };

 private:
  std::size_t rank_ = 0;
  std::array<int64_t, max_axes> sizes_{};
  std::array<std::array<int64_t, max_axes>, N> strides_{};
};

/// body(offsets, count) for every row or, if rows have more than `longest` elements, for every piece of each row: where
/// it starts in each operand, and how many elements it has. A chunk is as many pieces as have about `elements` elements
/// together.
template <std::size_t N, class Body>
void for_each_piece(const Nest<N>& nest, int64_t longest, int64_t elements, const Body& body) {
  const int64_t n = nest.row_length(), piece = std::min(n, longest);
  if (n == 0) return;
  const int64_t pieces = divide_up(n, piece);
  parallel_for(nest.rows() * pieces, grain_for(piece, elements), [&](int64_t begin, int64_t end) {
    typename Nest<N>::Row row(nest, begin / pieces);
    std::array<int64_t, N> offsets = row.offsets;
    auto move = [&](int64_t places) {
      for (std::size_t k = 0; k < N; ++k) offsets[k] += places * nest.row_stride(k);
    };
    int64_t start = begin % pieces * piece;
    move(start);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t count = std::min(piece, n - start);
      body(offsets, count);
      start += count;
      if (start < n) {
        move(count);
      } else {
        start = 0;
        row.next();
        offsets = row.offsets;
      }
    }
  });
}

}  // namespace reel::kernels
