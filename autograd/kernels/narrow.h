#pragma once
// The last columns of a product, where they are few: of a vector of them, as tiles have it, most lanes would be empty.
// So the lanes go elsewhere: along k where the rows of a are dense, along the rows where its columns are.

#include <algorithm>

#include "autograd/kernels/matmul.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/kernels/simd.h"
#include "autograd/kernels/tile.h"
#include "autograd/kernels/transpose.h"

namespace reel::kernels {

/// Up to this many columns are few. Without masks none are: b is padded to whole vectors anyway.
template <class T>
inline constexpr int64_t narrow_width = has_masks ? std::min<int64_t>(4, lanes<T> / 2) : 0;

/// From this k on, it costs little next to the rest to add up lanes, or to transpose sums, in the end.
inline constexpr int64_t narrow_depth = 64;

namespace detail {

/// How many rows have their sums computed before these go to c.
template <class T>
inline constexpr int64_t narrow_rows = 2 * lanes<T>;

/// narrow_width sums for each row; those beyond `width` mean nothing. The rows of a and the columns of b are dense.
template <class T>
void add_up_along_k(int64_t rows, int64_t width, int64_t depth, Matrix<const T> a, Matrix<const T> b, T* sums) {
  constexpr int64_t at_once = lanes<T> / narrow_width<T>;
  const T* b_columns[narrow_width<T>];
  for (int64_t j = 0; j < narrow_width<T>; ++j) b_columns[j] = b.at(0, std::min(j, width - 1)).data;
  for (int64_t first = 0; first < rows; first += at_once) {
    const T* a_rows[at_once];
    for (int64_t i = 0; i < at_once; ++i) a_rows[i] = a.at(std::min(first + i, rows - 1), 0).data;
    Vec<T> lane_sums[lanes<T>];  // one for each element of at_once rows
#pragma GCC unroll 16
    for (Vec<T>& sum : lane_sums) sum = splat(T(0));
    auto add_products = [&](const auto& load_at) __attribute__((always_inline)) {
      Vec<T> b_vectors[narrow_width<T>];
#pragma GCC unroll 4
      for (int64_t j = 0; j < narrow_width<T>; ++j) b_vectors[j] = in_register(load_at(b_columns[j]));
#pragma GCC unroll 4
      for (int64_t i = 0; i < at_once; ++i) {
        const Vec<T> a_vector = in_register(load_at(a_rows[i]));
#pragma GCC unroll 4
        for (int64_t j = 0; j < narrow_width<T>; ++j) {
          Vec<T>& sum = lane_sums[i * narrow_width<T> + j];
          sum = fma(a_vector, b_vectors[j], sum);
        }
      }
    };
    int64_t p = 0;
    for (; p + lanes<T> <= depth; p += lanes<T>) add_products([p](const T* x) { return load(x + p); });
    if (p < depth) add_products([p, depth](const T* x) { return load_n(x + p, depth - p); });
    store(sums + first * narrow_width<T>, reduce_add_each(lane_sums));
  }
}

/// The same, as bᵀ aᵀ in a tile, which fetches ahead as others do. The columns of a are dense.
template <class T>
void add_up_along_rows(int64_t rows, int64_t width, int64_t depth, Matrix<const T> a, Matrix<const T> b, T* sums) {
  T transposed[narrow_width<T> * narrow_rows<T>];
  const TileKernel<T> kernel = tile_kernels_for<T>(rows)[static_cast<std::size_t>(width - 1)];
  kernel({.depth = depth,
          .a = b.transposed(),
          .b = a.data,
          .b_stride = a.col_stride,
          .c = transposed,
          .c_stride = narrow_rows<T>,
          .width = rows},
         Upcoming::of_this_thread());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) sums[i * narrow_width<T> + j] = transposed[j * narrow_rows<T> + i];
  }
}

}  // namespace detail

/// c = a b for 1 <= width <= narrow_width columns. Either the columns of a are dense, or its rows and the columns of b
/// are.
template <class T>
void multiply_narrow(int64_t rows, int64_t width, int64_t depth, Matrix<const T> a, Matrix<const T> b, T* c,
                     int64_t c_stride, const Epilogue<T>& epilogue) {
  for (int64_t first = 0; first < rows; first += detail::narrow_rows<T>) {
    const int64_t count = std::min(detail::narrow_rows<T>, rows - first);
    alignas(vector_alignment) T sums[detail::narrow_rows<T> * narrow_width<T>];
    const auto add_up = a.row_stride == 1 ? &detail::add_up_along_rows<T> : &detail::add_up_along_k<T>;
    add_up(count, width, depth, a.at(first, 0), b, sums);
    for (int64_t i = 0; i < count; ++i) {
      finish(epilogue, sums + i * narrow_width<T>, 0, width, c + (first + i) * c_stride);
    }
  }
}

}  // namespace reel::kernels
