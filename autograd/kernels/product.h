#pragma once
// A matrix product as matmul.cpp works it off: how it is cut up, and what of its operands is copied, by whom.

#include <algorithm>
#include <cstdint>

#include "autograd/kernels/cut.h"
#include "autograd/kernels/matmul.h"
#include "autograd/kernels/narrow.h"
#include "autograd/kernels/pack.h"

namespace reel::kernels {

/// Mostly a is as good as a copy. But its rows may evict each other, and then one copy helps all panels.
template <class T>
bool is_worth_a_copy(Matrix<const T> a, int64_t m, int64_t n) {
  return m > 1 && n > 2 * panel_width<T> && a.row_stride > 1 && collides<T>(a.row_stride);
}

/// Where a lies column by column, a tile reads a piece of each column, 14 numbers for instance. If columns are many and
/// each lies in another page, these pieces evict each other; packed, they lie one after another. To low tiles that
/// happens even with three columns on a page: lines are evicted before the tile below has read the rest of them.
template <class T>
bool is_worth_packing(Matrix<const T> a, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t many = 64, on_a_page = tiles_are_low ? 3 : 1;
  return m > 1 && n > 2 * panel_width<T> && k >= many && a.row_stride == 1 && far_apart<T>(on_a_page * a.col_stride);
}

/// One product.
template <class T>
struct Product {
  int64_t m, n, k;
  Matrix<const T> a, b;
  T* c;
  int64_t c_stride;
  Epilogue<T> epilogue = {};
  Band a_band = {};
  bool along_columns = a.row_stride == 1;
  bool copies_a = is_worth_a_copy(a, m, n), packs_a = is_worth_packing(a, m, n, k);
  // Tiles need dense rows of b; without masks, with room for whole vectors at their ends.
  bool must_pack = b.col_stride != 1 || (!has_masks && n % lanes<T> != 0);
  // Rows of b of which every fourth competes for the same places, or that begin within vectors, are worth a copy for
  // even a few tiles.
  bool packs_b = must_pack || (m >= 4 * tile_rows && (collides<T>(4 * b.row_stride) || b.row_stride % lanes<T> != 0));
  // The last panel is so narrow that no tiles are made of it.
  bool ends_narrow = (n - 1) % panel_width<T> < narrow_width<T> && m > 1 && k >= narrow_depth &&
                     (a.col_stride == 1 || a.row_stride == 1);
  bool is_narrow = n <= panel_width<T> * block_panels;  // then visits of c are the larger part of the work
  int64_t depth = packs_a || (copies_a && !is_narrow) ? slab_depth_of_copies
                  : along_columns                     ? slab_depth_along_columns
                                                      : slab_depth;
  Cut cut = cut_up<T>(m, n, k, depth, copies_a || packs_a, packs_b);

  Range rows(Range tiles) const { return {cut.tiles.begin(tiles.begin), cut.tiles.begin(tiles.end)}; }
  Range columns(Range panels) const {
    return {panels.begin * panel_width<T>, std::min(n, panels.end * panel_width<T>)};
  }

  Range tiles_of(int64_t block) const { return cut.row_blocks[block / cut.column_blocks.count]; }
  Range panels_of(int64_t block) const { return cut.column_blocks[block % cut.column_blocks.count]; }

  /// The part of the depths in which some of these rows of a may differ from zero.
  Range in_band(Range depths, Range rows) const {
    const int64_t begin = std::clamp(rows.begin + a_band.begin, depths.begin, depths.end);
    return {begin, std::clamp(rows.end - 1 + a_band.end, begin, depths.end)};
  }

  /// A block that shares its panels of b (or its rows of a) with no other block copies them itself, into the second
  /// cache.
  bool owns_panels() const { return cut.row_blocks.count == 1; }
  bool owns_rows() const { return cut.column_blocks.count == 1; }

  bool packs_panels() const { return packs_b && owns_panels(); }
  /// A b that could be read as it lies is worth a copy only if its rows are far apart and more than one row of blocks
  /// reads it.
  bool packs_slab() const { return (packs_b || far_apart<T>(b.row_stride)) && !owns_panels(); }

  T* at(int64_t row, int64_t column) const { return c + row * c_stride + column; }
};

/// What remains to be done to the sums over these depths: the first of them begin c, unless it accumulates, all others
/// add to it, and the last add the bias and apply ReLU.
template <class T>
Epilogue<T> epilogue_of(const Product<T>& x, Range depths, int64_t first_column) {
  const bool first = depths.begin == 0, last = depths.end == x.k;
  return {x.epilogue.accumulate || !first, last && x.epilogue.bias ? x.epilogue.bias + first_column : nullptr,
          last && x.epilogue.relu};
}

/// About what a product costs, in multiplications of half a vector. A row of narrow columns costs one for each k, and a
/// number of b that is packed two thirds of one.
template <class T>
int64_t cost(const Product<T>& x) {
  const int64_t halves = 2 * divide_up(x.n, lanes<T>) - (x.ends_narrow ? 1 : 0);
  return x.k * (x.m * halves + (x.must_pack ? 2 * x.n / 3 : 0));
}

}  // namespace reel::kernels
