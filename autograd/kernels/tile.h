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

/// A single row has registers left: it is summed up in a wider tile, which reads longer runs of b.
inline constexpr int wide_vectors = 8;

/// How much of its last vector a tile needs: all lanes, some, or none above its lower half, which then is all that is
/// computed.
enum class Edge { whole, partial, half };

/// Of a tile's products the last ones are added row by row. The first ones fetch c, a line each, the others what is
/// upcoming; if they are fewer, all do.
inline constexpr int64_t last_products = 2;
constexpr int64_t lines_of_c(int64_t rows, int64_t vectors) { return rows * (vectors + 1); }
constexpr int64_t first_to_fetch_upcoming(int64_t rows, int64_t vectors, int64_t depth) {
  const int64_t fetch_c = lines_of_c(rows, vectors);
  return depth - last_products < 2 * fetch_c ? 0 : fetch_c;
}
constexpr int64_t lines_of_upcoming(int64_t rows, int64_t vectors, int64_t depth) {
  return std::max<int64_t>(0, depth - last_products - first_to_fetch_upcoming(rows, vectors, depth));
}

/// Rows x `width` elements of c from `depth` products each; and lines_of_upcoming are fetched. a starts at the tile's
/// first row, b, c and the bias at its first column; the rows of b are dense, b_stride apart. Vectors are as many as
/// cover the width; where the last one covers more, b is padded to whole vectors unless has_masks. a is not handed over
/// as a copy: GCC copies two of its members at once, just after they were written one by one, and that read would wait
/// for all stores before it.
template <class T, int Rows, int Vectors, Edge edge>
void multiply_tile(int64_t depth, const Matrix<const T>& a, const T* b, int64_t b_stride, T* c, int64_t c_stride,
                   int64_t width, const Epilogue<T>& epilogue, const Lines* upcoming) {
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

  struct RowOfB {
    Vec<T> vectors[Vectors];
    HalfVec<T> half;
  };
  auto next_row_of_b = [&]() __attribute__((always_inline)) {
    RowOfB row;
#pragma GCC unroll 8
    for (int v = 0; v < whole_vectors; ++v) row.vectors[v] = has_masks ? load_vector(b, v) : load(b + v * lanes<T>);
    if constexpr (edge == Edge::half) row.half = load_half_n(b + last * lanes<T>, rest);
    b += b_stride;
    return row;
  };
  auto add_product = [&](int i, T a_element, const RowOfB& b_row) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int v = 0; v < whole_vectors; ++v) sum[i][v] = fma(splat(a_element), b_row.vectors[v], sum[i][v]);
    if constexpr (edge == Edge::half) half_sum[i] = fma(a_element, b_row.half, half_sum[i]);
  };

  const T* a_column = a.data;
  auto add_products = [&]() __attribute__((always_inline)) {
    const RowOfB b_row = next_row_of_b();
    // There are not enough registers for an address of each row. Compilers would try to have some anyway, carried on
    // from product to product, if they could see where this one comes from.
    const T* a_row = a_column;
    asm("" : "+r"(a_row));
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i, a_row += a.row_stride) add_product(i, *a_row, b_row);
    a_column += a.col_stride;
  };

  // Memory is asked for more all the while, but for little at a time, lest a and b have to wait. Of c come the first
  // lines of all rows, then the second ones, ...
  const bool has_last = depth >= last_products;
  const int64_t other_products = has_last ? depth - last_products : depth;
  const bool all_fetch_upcoming = first_to_fetch_upcoming(Rows, Vectors, depth) == 0;
  LineByLine ahead(all_fetch_upcoming ? upcoming : &nothing_new);
  int64_t p = 0;
  const T* line = c;
  for (int row = 0, part = 0; p < std::min(lines_of_c(Rows, Vectors), other_products); ++p) {
    __builtin_prefetch(line, 1);
    __builtin_prefetch(ahead.next(), 0, 2);
    line += c_stride;
    if (++row == Rows) {
      row = 0;
      ++part;
      line = c + (part < Vectors ? part * lanes<T> : width - 1);
    }
    add_products();
  }
  if (!all_fetch_upcoming) ahead = LineByLine(upcoming);
  for (; p < other_products; ++p) {
    __builtin_prefetch(ahead.next(), 0, 2);
    add_products();
  }

  // The last products are added row by row, so that a row is stored while others are still added up: next to
  // multiplications, stores take no time.
  const bool accumulate = epilogue.accumulate, relu = epilogue.relu;
  const T* const bias = epilogue.bias;
  RowOfB b_rows[last_products];
  if (has_last) {
#pragma GCC unroll 8
    for (RowOfB& b_row : b_rows) b_row = next_row_of_b();
  }
  const T* a_row = a_column;
  T* row = c;
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i, a_row += a.row_stride, row += c_stride) {
    if (has_last) {
#pragma GCC unroll 8
      for (int64_t q = 0; q < last_products; ++q) add_product(i, a_row[q * a.col_stride], b_rows[q]);
    }
    if constexpr (edge == Edge::half) sum[i][last] = widen(half_sum[i]);
    if (accumulate) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[i][v] += load_vector(row, v);
    }
    if (bias) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[i][v] += load_vector(bias, v);
    }
    if (relu) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[i][v] = max(splat(T(0)), sum[i][v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      if (edge != Edge::whole && v == last) {
        store_n(row + v * lanes<T>, sum[i][v], rest);
      } else {
        store(row + v * lanes<T>, sum[i][v]);
      }
    }
  }
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
