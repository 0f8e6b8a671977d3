#pragma once
// How a product is cut up: c into tiles, panels and blocks, k into slabs. It depends on sizes and strides alone.

#include <algorithm>
#include <cstdint>

#include "autograd/kernels/pack.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/kernels/tile.h"

namespace reel::kernels {

// A panel is the part of b that a column of tiles needs: `slab_depth` rows of it, one tile wide. The tiles use it in
// turn, one below the other. The deeper a panel is, the less often c is visited; at this depth it still fits the second
// cache together with the rows of a that go with it. Where a lies row by row, a tile's 14 rows are 14 lines for every
// 16 of the k; column by column, each k has a line or two of its own, and half as many k fill the first cache. Half
// as many are better where a is copied, too: a tile's part of it should stay there together with a panel. Low
// tiles have a small part of it; they gain more where c is visited less often.
inline constexpr int64_t slab_depth = 512;
inline constexpr int64_t shallow_slab_depth = slab_depth / 2;

// A block of c is what one thread works on: small enough that there are several, large enough that a panel meets many
// rows and that these rows, once they are in the second cache, meet many panels. If c has many rows, each block has
// few: each row may lie in a page of memory of its own, and the processor knows the places of some dozens of pages at a
// time. If c has few rows, blocks have all of them: otherwise all of b would be read for each row of blocks.
inline constexpr int64_t block_tiles = 4;
inline constexpr int64_t one_block_rows = 140;
inline constexpr int64_t block_panels = 8;

// Each row of blocks reads all of b again. Where c is wider than a block, blocks of low tiles are higher, so that there
// are fewer such rows.
inline constexpr int64_t block_tiles_of_wide_c = tiles_are_low ? 12 : block_tiles;

// A product has at least this many blocks if they are worth it, so that no thread waits long for the last one. A block
// that is cut for that, between panels, is still computed in the same order.
inline constexpr int64_t enough_blocks = 16;

// Where there are no more blocks than that, all have equally many tiles, for which tiles may be as low as this.
inline constexpr int64_t lowest_even_tile = tile_rows - 2;

// Blocks that are as wide as c share no rows of a, and so each can copy its own. They may have as few tiles as this,
// one below the other, but a slab of b must stay in the second cache: each of them goes through all of it. Four
// low tiles have about as many rows as two others.
inline constexpr int64_t least_own_tiles = tiles_are_low ? 4 : 2;

// Blocks that are as tall as c share no panels of b: each reads its own part of b, and can pack it. c may have as many
// rows as this, if those of a take no more than half of the second cache. Fewer blocks are enough then: no thread waits
// until all threads together have packed a slab of b.
inline constexpr int64_t tall_block_rows = 280;
inline constexpr int64_t enough_tall_blocks = enough_blocks / 2;

/// Items in parts of nearly equal size: the first `larger` have one more than the others.
struct Parts {
  int64_t count, size, larger;

  Parts(int64_t items, int64_t parts)
      : count(parts), size(parts == 1 ? items : items / parts), larger(items - parts * size) {}

  int64_t begin(int64_t part) const { return part * size + std::min(part, larger); }
  Range operator[](int64_t part) const { return {begin(part), begin(part + 1)}; }
  int64_t size_of(int64_t part) const { return size + (part < larger ? 1 : 0); }
};

/// How c is cut up: into rows of tiles, columns of panels, and blocks of both; and k into slabs. A step is one slab's
/// part of a block. Blocks follow each other row by row, slab by slab.
struct Cut {
  Parts slabs;  // of depths
  Parts tiles;  // of rows
  int64_t panels;
  Parts row_blocks;     // of tiles
  Parts column_blocks;  // of panels
  int64_t blocks() const { return row_blocks.count * column_blocks.count; }
  int64_t steps() const { return slabs.count * blocks(); }
};

template <class T>
Cut cut_up(int64_t m, int64_t n, int64_t k, int64_t depth, bool may_own_rows) {
  const Parts slabs(k, std::max<int64_t>(1, divide_up(k, depth)));
  const int64_t tiles = divide_up(m, tile_rows), panels = divide_up(n, panel_width<T>);
  auto cut_into = [&](int64_t row_blocks, int64_t column_blocks) {
    // Where blocks are few, they are equally high: of 19 tiles, one thread would have ten and another nine.
    const int64_t even = round_up(tiles, row_blocks);
    const bool evens_out = row_blocks * column_blocks <= enough_blocks && even * lowest_even_tile <= m;
    const int64_t count = evens_out ? even : tiles;
    return Cut{slabs, {m, count}, panels, {count, row_blocks}, {panels, column_blocks}};
  };
  const int64_t wanted = std::min(m * n * k / multiplications_per_chunk, enough_blocks);
  int64_t column_blocks = divide_up(panels, block_panels);
  int64_t row_blocks =
      m <= one_block_rows ? 1 : divide_up(tiles, column_blocks > 1 ? block_tiles_of_wide_c : block_tiles);
  if (may_own_rows && tiles >= wanted * least_own_tiles && stays_near<T>(std::min(k, depth) * n)) {
    return cut_into(std::max(row_blocks, wanted), 1);
  }
  const bool is_low = m <= tall_block_rows && stays_near<T>(2 * m * std::min(k, depth));
  if (is_low && panels >= std::min(wanted, enough_tall_blocks)) row_blocks = 1;
  if (row_blocks * column_blocks < wanted) {
    const int64_t columns = std::min(divide_up(wanted, row_blocks), panels);
    column_blocks = divide_up(panels, panels / columns);  // rather more than some twice as wide
  }
  return cut_into(row_blocks, column_blocks);
}

}  // namespace reel::kernels
