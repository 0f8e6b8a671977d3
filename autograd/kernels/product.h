#pragma once
// A matrix product as matmul.cpp computes it: how it is cut up, and what of its operands is copied, by whom.

#include <algorithm>
#include <cstdint>

#include "autograd/kernels/cut.h"
#include "autograd/kernels/matmul.h"
#include "autograd/kernels/narrow.h"
#include "autograd/kernels/pack.h"

namespace reel::kernels {

/// One product, c = a b.
template <class T>
struct Product {
  int64_t m, n, k;
  Matrix<const T> a, b;
  T* c;
  int64_t c_stride;
  Epilogue<T> epilogue = {};
  Band a_band = {};

  T* at(int64_t row, int64_t column) const { return c + row * c_stride + column; }

  /// Whether the band leaves anything of a out: the last row's beginning, or the first row's end.
  bool has_band() const { return a_band.begin > 1 - m || a_band.end < k; }

  /// The part of the depths in which some of these rows of a may differ from zero.
  Range in_band(Range depths, Range rows) const {
    const int64_t begin = std::clamp(rows.begin + a_band.begin, depths.begin, depths.end);
    return {begin, std::clamp(rows.end - 1 + a_band.end, begin, depths.end)};
  }
};

/// Tiles read a where it lies, mostly as fast as they would a copy. But where its rows are a multiple of a page apart,
/// they evict each other from the first cache; then one copy helps all panels, if there are more than two.
template <class T>
bool is_worth_a_copy(const Product<T>& x) {
  return x.m > 1 && x.n > 2 * panel_width<T> && x.a.row_stride > 1 && collides<T>(x.a.row_stride);
}

/// So many columns of a, or rows of b, are enough for it to matter how far apart they are.
inline constexpr int64_t many_strides = 64;

/// Where a lies column by column, a tile reads a piece of each column, 14 numbers for instance. If columns are many and
/// far apart, these pieces evict each other; packed, they lie one after another.
template <class T>
bool is_worth_packing(const Product<T>& x) {
  return x.m > 1 && x.n > 2 * panel_width<T> && x.k >= many_strides && x.a.row_stride == 1 &&
         far_apart_for_tiles<T>(x.a.col_stride);
}

/// What of a product's operands is copied, and how it is cut up.
struct Strategy {
  bool along_columns;  // a lies column by column
  bool copies_a;       // a is worth a copy in the order in which it lies,
  bool packs_a;        // or tile by tile
  bool must_pack;      // tiles cannot read b as it lies
  bool packs_b;        // it is worth packing
  bool ends_narrow;    // no tiles are made of the last panel
  Cut cut;
};

template <class T>
Strategy choose(const Product<T>& x) {
  const bool along_columns = x.a.row_stride == 1;
  const bool copies_a = is_worth_a_copy(x), packs_a = is_worth_packing(x);
  // Tiles need dense rows of b; without masks, with room for whole vectors at their ends.
  const bool must_pack = x.b.col_stride != 1 || (!has_masks && x.n % lanes<T> != 0);
  // Rows of b that compete for the same places are worth a copy for even a few tiles. Low ones read a panel more often:
  // for them, it pays sooner, and also where many rows are two cache lines apart or more, or where rows begin within
  // vectors. Of two tiles, either may be lower than others; of four, none is.
  const int64_t stride = x.b.row_stride;
  const bool pays_for_two = tiles_are_low && (collides<T>(stride) || (x.k >= many_strides && stride >= 2 * line<T>));
  const bool pays_for_four = collides_for_tiles<T>(stride) || (tiles_are_low && stride % lanes<T> != 0);
  const bool packs_b = must_pack || (pays_for_two && x.m > tile_rows) || (pays_for_four && x.m >= 4 * tile_rows);
  // Of a narrow last panel no tiles are made, if k is deep enough for the other way.
  const bool ends_narrow = (x.n - 1) % panel_width<T> < narrow_width<T> && x.m > 1 && x.k >= narrow_depth &&
                           (x.a.col_stride == 1 || along_columns);
  // cut.h says why slabs differ in depth. Where c is no wider than one block, they are deep nevertheless: there,
  // visiting c is the larger part of the work.
  const bool is_one_block_wide = x.n <= panel_width<T> * block_panels;
  const bool is_shallow = along_columns || (copies_a && !is_one_block_wide && !tiles_are_low);
  const int64_t depth = is_shallow ? shallow_slab_depth : slab_depth;
  return {.along_columns = along_columns,
          .copies_a = copies_a,
          .packs_a = packs_a,
          .must_pack = must_pack,
          .packs_b = packs_b,
          .ends_narrow = ends_narrow,
          .cut = cut_up<T>(x.m, x.n, x.k, depth, copies_a || packs_a)};
}

/// Who copies an operand, if anybody does.
enum class Copied {
  no,
  by_all,    // all threads, a whole slab of it before the blocks of c begin
  by_block,  // each block, what it alone reads, into the second cache
  by_tiles   // the same, but the tiles that read it first, while they multiply
};

/// A product and how it is computed.
template <class T>
struct Plan : Product<T> {
  Strategy how = choose<T>(*this);

  Range rows(Range tiles) const { return {how.cut.tiles.begin(tiles.begin), how.cut.tiles.begin(tiles.end)}; }
  Range columns(Range panels) const {
    return {panels.begin * panel_width<T>, std::min(this->n, panels.end * panel_width<T>)};
  }

  /// The first of these tiles and those below it that are as high and read the same rows of b; with a band, it alone.
  Range alike(Range tiles) const {
    if (this->has_band()) return {tiles.begin, tiles.begin + 1};
    const int64_t larger = how.cut.tiles.larger;
    return {tiles.begin, tiles.begin < larger ? std::min(larger, tiles.end) : tiles.end};
  }

  Range tiles_of(int64_t block) const { return how.cut.row_blocks[block / how.cut.column_blocks.count]; }
  Range panels_of(int64_t block) const { return how.cut.column_blocks[block % how.cut.column_blocks.count]; }

  /// Whether blocks share their panels of b, or their rows of a, with no other block.
  bool owns_panels() const { return how.cut.row_blocks.count == 1; }
  bool owns_rows() const { return how.cut.column_blocks.count == 1; }

  Copied copied_b() const {
    if (owns_panels()) return how.packs_b ? Copied::by_block : Copied::no;
    // One copy serves several rows of blocks: then rows that are far apart are reason enough, too.
    return how.packs_b || far_apart_for_tiles<T>(this->b.row_stride) ? Copied::by_all : Copied::no;
  }

  Copied copied_a() const {
    if (!how.copies_a && !how.packs_a) return Copied::no;
    if (!owns_rows()) return Copied::by_all;
    const bool by_tiles = how.packs_a && copies_columns<T> && how.cut.tiles.size >= lowest_copying_tile;
    return by_tiles && copied_b() != Copied::by_block ? Copied::by_tiles : Copied::by_block;
  }
};

/// What remains to be done to the sums over these depths: the first of them begin c, unless it accumulates, all others
/// add to it, and the last add the bias and apply ReLU.
template <class T>
Epilogue<T> epilogue_of(const Plan<T>& x, Range depths, int64_t first_column) {
  const bool first = depths.begin == 0, last = depths.end == x.k;
  return {x.epilogue.accumulate || !first, last && x.epilogue.bias ? x.epilogue.bias + first_column : nullptr,
          last && x.epilogue.relu};
}

/// About what a product costs, in multiplications of half a vector. A row of narrow columns costs one for each k, and a
/// number of b that is packed two thirds of one.
template <class T>
int64_t cost(const Plan<T>& x) {
  const int64_t halves = 2 * divide_up(x.n, lanes<T>) - (x.how.ends_narrow ? 1 : 0);
  return x.k * (x.m * halves + (x.how.must_pack ? 2 * x.n / 3 : 0));
}

}  // namespace reel::kernels
