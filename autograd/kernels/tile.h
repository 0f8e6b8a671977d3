#pragma once
// The innermost part of a matrix product: a small tile of c, summed up in registers. tile.cpp has its loop.
//
// tile_rows x 2 vectors of c leave room for two vectors of b and one element of a. Each vector of b is then used
// tile_rows times and each element of a twice, so that the multipliers wait for neither.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "autograd/kernels/epilogue.h"
#include "autograd/kernels/matmul.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {

/// With 16 registers tiles are low: a round has 12 FMAs instead of 28, which hide little else, and where columns of a
/// are dense it reads 24 of a line's 64 bytes, instead of 56.
inline constexpr bool tiles_are_low = vector_registers < 32;
inline constexpr int tile_rows = tiles_are_low ? 6 : 14;

/// A tile of a single row leaves registers free: it is made wider than others, and reads longer runs of b.
inline constexpr int wide_vectors = 8;

/// Tiles of the same height, one below the other: a column of them, by one panel of b. a and c begin at the first
/// tile's first row; b, c and the bias at the panel's first column.
template <class T>
struct TileColumn {
  int64_t count = 1;  // of tiles
  int64_t depth;      // products for each element of c
  Matrix<const T> a;
  int64_t a_step = 0;  // from one tile's rows to the next's
  const T* b;          // its rows are dense
  int64_t b_stride;
  T* c;
  int64_t c_stride, width;
  Epilogue<T> epilogue = {};
  T* copy = nullptr;  // for kernels that leave one: of b, row after row, or of each tile's part of a, as it is packed
  int64_t copy_step = 0;
};

/// Computes c, and meanwhile fetches what is upcoming. Where the width is no whole number of vectors, b must be padded
/// to one, unless has_masks.
template <class T>
using TileKernel = void (*)(const TileColumn<T>& column, Upcoming& upcoming);

/// One for each height from 1 to tile_rows, at index rows - 1.
template <class T>
using TileKernels = std::array<TileKernel<T>, static_cast<std::size_t>(tile_rows)>;

/// Along which of its lines a matrix is dense, if that is known. In f32 tiles of full width gain by it: low ones find
/// the elements of a with fewer instructions, high ones fetch its columns ahead.
enum class Dense { neither, rows, columns };

template <class T>
Dense dense_lines(const Matrix<const T>& x) {
  return x.row_stride == 1 ? Dense::columns : x.col_stride == 1 ? Dense::rows : Dense::neither;
}

/// The kernels for a width of 1 to 2 lanes<T>, and an a with these dense lines, or with any. They do not ask how far
/// apart elements are along dense lines.
template <class T>
const TileKernels<T>& tile_kernels_for(int64_t width, Dense lines_of_a = Dense::neither);

/// How low kernels that copy may be. Tiles that share a panel are never lower: two or more of them differ by one row at
/// most, so that none has less than half of tile_rows.
inline constexpr int lowest_copying_tile = tile_rows / 2;

/// The kernels for the full width that copy b.
template <class T>
const TileKernels<T>& copying_kernels(Dense lines_of_a);

/// Whether there are kernels that copy a, and those: for the full width, where the columns of a are dense. In f64,
/// which is for checking gradients, they are not worth compiling.
template <class T>
inline constexpr bool copies_columns = has_masks && !tiles_are_low && std::is_same_v<T, float>;
template <class T>
const TileKernels<T>& column_copying_kernels();

/// How far apart the columns of a tile of a lie, once they are packed: whole vectors; in f32 a cache line or,
/// where tiles are low, half of one.
template <class T>
inline constexpr int64_t tile_stride = (tile_rows + lanes<T> - 1) / lanes<T>* lanes<T>;

/// The kernel for a single row of wide_vectors.
template <class T>
TileKernel<T> wide_kernel();

}  // namespace reel::kernels
