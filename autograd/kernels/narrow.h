#pragma once
// The last columns of a product, where they are few: of a vector of them, as tiles have it, most lanes would be empty.
// So the lanes go elsewhere: along k where the rows of a are dense, along the rows where its columns are.

#include <algorithm>
#include <cstring>

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

/// A row's numbers, as a vector of the compiler's.
template <class T>
using NarrowVec __attribute__((vector_size(narrow_width<T> * sizeof(T)))) = T;

template <class T>
NarrowVec<T> load_narrow(const T* from) {
  NarrowVec<T> x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

/// How many rows' sums, narrow_width for each, are one vector.
template <class T>
inline constexpr int64_t rows_of_vector = lanes<T> / narrow_width<T>;

/// Takes the sums of up to rows_of_vector rows to the first `width` columns of c.
template <class T>
[[gnu::always_inline]] inline void finish_rows(const Epilogue<T>& epilogue, const Vec<T>& sums, int64_t rows,
                                               int64_t width, T* c, int64_t c_stride) {
  alignas(vector_alignment) T numbers[lanes<T>];
  store(numbers, sums);
  for (int64_t i = 0; i < rows; ++i) {
    const T* const from = numbers + i * narrow_width<T>;
    T* const row = c + i * c_stride;
    if (width < narrow_width<T>) {
      finish(epilogue, from, 0, width, row);
      continue;
    }
    const NarrowVec<T> sum = finished(
        epilogue, load_narrow(from), [&] { return load_narrow(row); }, [&] { return load_narrow(epilogue.bias); });
    std::memcpy(row, &sum, sizeof sum);
  }
}

/// The rows of a and the columns of b are dense.
template <class T>
void multiply_along_k(int64_t rows, int64_t width, int64_t depth, Matrix<const T> a, Matrix<const T> b, T* c,
                      int64_t c_stride, const Epilogue<T>& epilogue) {
  constexpr int64_t at_once = rows_of_vector<T>;
  const T* b_columns[narrow_width<T>];  // those beyond `width` mean nothing
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
    finish_rows(epilogue, reduce_add_each(lane_sums), std::min(at_once, rows - first), width, c + first * c_stride,
                c_stride);
  }
}

/// The columns of a are dense. bᵀ aᵀ in tiles, which fetch ahead as others do.
template <class T>
void multiply_along_rows(int64_t rows, int64_t width, int64_t depth, Matrix<const T> a, Matrix<const T> b, T* c,
                         int64_t c_stride, const Epilogue<T>& epilogue) {
  constexpr int64_t at_once = 2 * lanes<T>;
  T columns[narrow_width<T> * at_once] = {};
  for (int64_t first = 0; first < rows; first += at_once) {
    const int64_t count = std::min(at_once, rows - first);
    const TileKernel<T> kernel = tile_kernels_for<T>(count)[static_cast<std::size_t>(width - 1)];
    kernel({.depth = depth,
            .a = b.transposed(),
            .b = a.at(first, 0).data,
            .b_stride = a.col_stride,
            .c = columns,
            .c_stride = at_once,
            .width = count},
           Upcoming::of_this_thread());
    for (int64_t begin = 0; begin < count; begin += lanes<T>) {
      Vec<T> sums[narrow_width<T>];  // a column in each
#pragma GCC unroll 4
      for (int64_t j = 0; j < narrow_width<T>; ++j) sums[j] = load(columns + j * at_once + begin);
      interleave_each(sums);  // some rows in each
      int64_t row = first + begin;
      for (int64_t v = 0; v < narrow_width<T> && row < rows; ++v, row += rows_of_vector<T>) {
        finish_rows(epilogue, sums[v], std::min(rows_of_vector<T>, rows - row), width, c + row * c_stride, c_stride);
      }
    }
  }
}

}  // namespace detail

/// c = a b for 1 <= width <= narrow_width columns. Either the columns of a are dense, or its rows and the columns of b
/// are.
template <class T>
void multiply_narrow(int64_t rows, int64_t width, int64_t depth, Matrix<const T> a, Matrix<const T> b, T* c,
                     int64_t c_stride, const Epilogue<T>& epilogue) {
  const auto multiply = a.row_stride == 1 ? &detail::multiply_along_rows<T> : &detail::multiply_along_k<T>;
  multiply(rows, width, depth, a, b, c, c_stride, epilogue);
}

}  // namespace reel::kernels
