#pragma once
// The innermost part of a matrix product: a small tile of c, summed up in registers.
//
// tile_rows x 2 vectors of c leave room for two vectors of b and one element of a. Each vector of b is then used
// tile_rows times and each element of a twice, so that the multipliers wait for neither.

#include <algorithm>
#include <array>
#include <utility>

#include "autograd/kernels/matmul.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {

inline constexpr int tile_rows = vector_registers == 32 ? 14 : 6;

/// A tile goes through this much of its depth for each line that is fetched of what comes next; and so many at once.
inline constexpr int64_t depth_of_line = 2;
inline constexpr int64_t lines_at_once = 8;

/// A single row has registers left: it is summed up in a wider tile, which reads longer runs of b.
inline constexpr int wide_vectors = 8;

/// How much of its last vector a tile needs: all lanes, some, or none above its lower half, which then is all that is
/// computed.
enum class Edge { whole, partial, half };

/// Rows x `width` elements of c from `depth` products each; and some of what is upcoming is fetched. a starts at the
/// tile's first row, b, c and the bias at its first column; the rows of b are dense, b_stride apart. Vectors are as
/// many as cover the width; where the last one covers more, b is padded to whole vectors unless has_masks. a is not
/// handed over as a copy: GCC copies two of its members at once, just after they were written one by one, and that read
/// would wait for all stores before it.
template <class T, int Rows, int Vectors, Edge edge>
void multiply_tile(int64_t depth, const Matrix<const T>& a, const T* b, int64_t b_stride, T* c, int64_t c_stride,
                   int64_t width, const Epilogue<T>& epilogue, Upcoming& upcoming) {
  constexpr int last = Vectors - 1, whole_vectors = edge == Edge::half ? last : Vectors;
  const int64_t rest = width - last * lanes<T>;  // what of the last vector counts
  auto load_vector = [rest](const T* row, int v) {
    return edge != Edge::whole && v == last ? load_n(row + v * lanes<T>, rest) : load(row + v * lanes<T>);
  };

  // Local, and every loop over it unrolled and inlined: otherwise compilers keep the sums in memory.
  Vec<T> sum[Rows][Vectors];
  HalfVec<T> half_sum[Rows] = {};
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[i][v] = splat(T(0));
  }

  const T* a_column = a.data;
  auto add_products = [&]() __attribute__((always_inline)) {
    Vec<T> b_row[Vectors];
    HalfVec<T> half_b_row = {};
#pragma GCC unroll 8
    for (int v = 0; v < whole_vectors; ++v) b_row[v] = has_masks ? load_vector(b, v) : load(b + v * lanes<T>);
    if constexpr (edge == Edge::half) half_b_row = load_half_n(b + last * lanes<T>, rest);
    // For an address of each row there are not enough registers: one for every four rows, and three strides.
    const T* a_row = a_column;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      if (i > 0 && i % 4 == 0) a_row += 4 * a.row_stride;
      const T a_element = a_row[i % 4 * a.row_stride];
#pragma GCC unroll 8
      for (int v = 0; v < whole_vectors; ++v) sum[i][v] = fma(splat(a_element), b_row[v], sum[i][v]);
      if constexpr (edge == Edge::half) half_sum[i] = fma(a_element, half_b_row, half_sum[i]);
    }
    a_column += a.col_stride;
    b += b_stride;
  };

  // Memory is asked for more all the while, but for little at a time, lest a and b have to wait. Each of the first
  // parts is one product for every row, and fetches a line of each row of c: their first lines, their second ones, ...
  // Later parts fetch the same line over and over, which costs less than another loop. What is upcoming comes before
  // each part.
  int64_t p = 0;
  for (int part = 0; p < depth; ++part) {
    const bool in_c = part <= Vectors;
    const T* line = c + (in_c ? std::min(part * lanes<T>, width - 1) : 0);
    const int64_t to_next_line = in_c ? c_stride : 0;
    const int64_t products = in_c ? Rows : upcoming.empty() ? depth : lines_at_once * depth_of_line;
    const int64_t end = std::min(depth, p + products);
    upcoming.fetch((end - p) / depth_of_line);
    for (; p < end; ++p, line += to_next_line) {
      __builtin_prefetch(line, 1);
      add_products();
    }
  }

  auto for_each_sum = [&](auto body) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) body(sum[i][v], c + i * c_stride, v);
    }
  };
  if constexpr (edge == Edge::half) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) sum[i][last] = widen(half_sum[i]);
  }
  if (epilogue.accumulate) for_each_sum([&](Vec<T>& value, T* row, int v) { value += load_vector(row, v); });
  if (epilogue.bias) for_each_sum([&](Vec<T>& value, T*, int v) { value += load_vector(epilogue.bias, v); });
  if (epilogue.relu) for_each_sum([&](Vec<T>& value, T*, int) { value = max(splat(T(0)), value); });
  for_each_sum([&](Vec<T>& value, T* row, int v) {
    if (edge != Edge::whole && v == last) {
      store_n(row + v * lanes<T>, value, rest);
    } else {
      store(row + v * lanes<T>, value);
    }
  });
}

template <class T>
using TileKernel = decltype(&multiply_tile<T, 1, 1, Edge::whole>);

/// multiply_tile with 1 to tile_rows rows, at index rows - 1
template <class T>
using TileKernels = std::array<TileKernel<T>, static_cast<std::size_t>(tile_rows)>;

template <class T, int Vectors, Edge edge>
inline constexpr TileKernels<T> tile_kernels = []<int... I>(std::integer_sequence<int, I...>) {
  return TileKernels<T>{&multiply_tile<T, I + 1, Vectors, edge>...};
}
(std::make_integer_sequence<int, tile_rows>());

/// Those that need `rest` lanes of their last vector.
template <class T, int Vectors>
const TileKernels<T>& tile_kernels_with(int64_t rest) {
  if (rest == lanes<T>) return tile_kernels<T, Vectors, Edge::whole>;
  if constexpr (has_halves) {
    if (rest <= half_lanes<T>) return tile_kernels<T, Vectors, Edge::half>;
  }
  return tile_kernels<T, Vectors, Edge::partial>;
}

/// The kernels for a tile of 1 <= width <= 2 vectors.
template <class T>
const TileKernels<T>& tile_kernels_for(int64_t width) {
  return width > lanes<T> ? tile_kernels_with<T, 2>(width - lanes<T>) : tile_kernels_with<T, 1>(width);
}

}  // namespace reel::kernels
