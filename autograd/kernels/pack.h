#pragma once
// Copies of parts of a matrix that lie closer together in memory than the original.

#include <algorithm>

#include "autograd/kernels/buffer.h"
#include "autograd/kernels/machine.h"
#include "autograd/kernels/matmul.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/kernels/rows.h"
#include "autograd/kernels/tile.h"
#include "autograd/kernels/transpose.h"

namespace reel::kernels {

/// The columns that a register tile covers.
template <class T>
inline constexpr int64_t panel_width = 2 * lanes<T>;

/// Whether rows this far apart compete for the same few places in the first cache, which has no more than 8 to 12 for
/// all addresses that are alike within their pages.
template <class T>
bool collides(int64_t stride) {
  return stride * static_cast<int64_t>(sizeof(T)) % page == 0;
}

/// Whether each row lies in another page of memory: the processor knows the places of few of them at a time.
template <class T>
bool far_apart(int64_t stride) {
  return stride * static_cast<int64_t>(sizeof(T)) >= page;
}

/// The same as tiles see it. Low ones come by more often, each for less of a row, or of a column of a: to them, an
/// eighth of a page is as much as a page.
inline constexpr int64_t strides_on_page = tiles_are_low ? 8 : 1;
template <class T>
bool collides_for_tiles(int64_t stride) {
  return collides<T>(strides_on_page * stride);
}
template <class T>
bool far_apart_for_tiles(int64_t stride) {
  return far_apart<T>(strides_on_page * stride);
}

/// Copies columns that are dense, but collide. Each line is part of several blocks that are turned, and would be gone
/// before the next of them; so they are copied as they lie first, a piece at a time.
template <class T>
void pack_colliding_columns(Matrix<const T> b, int64_t depth, int64_t width, T* panel) {
  constexpr int64_t longest = 128, stride = longest + lanes<T>;
  alignas(cache_line) T piece[panel_width<T> * stride];
  const int64_t length = std::min(longest, depth);
  for_each_overlapping(depth, length, [&](int64_t p) {
    for (int64_t j = 0; j < width; ++j) {
      const T* const from = b.at(p, j).data;
      T* const to = piece + j * stride;
      for_each_vector<T>(length, [&](int64_t i, int64_t count) { store(to + i, load_part(from + i, count)); });
    }
    transpose(length, width, piece, stride, panel + p * panel_width<T>, panel_width<T>);
  });
}

/// Copies `depth` rows of `width` elements to `panel` column by column, as pack_panel() does.
template <class T>
void pack_columns(Matrix<const T> b, int64_t depth, int64_t width, T* panel) {
  if (b.row_stride == 1 && depth > 0) {  // the columns are dense
    return collides<T>(b.col_stride) ? pack_colliding_columns(b, depth, width, panel)
                                     : transpose(depth, width, b.data, b.col_stride, panel, panel_width<T>);
  }
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t j = 0; j < width; ++j) panel[p * panel_width<T> + j] = *b.at(p, j).data;
  }
}

/// Copies `depth` rows of 1 <= width <= panel_width elements to `panel`, panel_width elements apart. Tiles may read
/// what stands behind them in `panel`, up to a whole vector, but never store a sum over these columns.
template <class T>
void pack_panel(Matrix<const T> b, int64_t depth, int64_t width, T* panel) {
  if (b.col_stride != 1) {
    pack_columns(b, depth, width, panel);
    return;
  }
  const int64_t rest = width % lanes<T>;
  for (int64_t p = 0; p < depth; ++p) {
    const T* from = b.data + p * b.row_stride;
    T* to = panel + p * panel_width<T>;
    constexpr int64_t rows_ahead = 8;  // in another page, perhaps, where the processor does not look by itself
    prefetch_run<panel_width<T>, 3>(from + rows_ahead * b.row_stride, width);
    int64_t j = 0;
    for (; j + lanes<T> <= width; j += lanes<T>) store(to + j, load(from + j));
    if (rest > 0) store(to + j, load_n(from + j, rest));
  }
}

/// Copies `depth` columns of a to `tile`, tile_stride elements apart. Each has `rows` elements, of which no more are
/// copied than a tile needs.
template <class T>
void pack_tile(Matrix<const T> a, int64_t rows, int64_t depth, T* tile) {
  for (int64_t p = 0; p < depth; ++p, a.data += a.col_stride, tile += tile_stride<T>) {
    for_each_vector<T>(std::min(rows, tile_stride<T>),
                       [&](int64_t i, int64_t count) { store(tile + i, load_part(a.data + i, count)); });
  }
}

/// How far apart rows of `columns` elements lie in a copy: close together, but not so that they collide, as they might
/// without a gap, for widths mostly are powers of two; whole cache lines, so that a panel's part of each row lies in no
/// more of them than it must.
template <class T>
int64_t compact_stride(int64_t columns) {
  const int64_t stride = round_up(columns + 1, line<T>);
  return collides_for_tiles<T>(stride) ? stride + line<T> : stride;
}

/// How many elements compact() needs room for.
template <class T>
constexpr int64_t compact_size(int64_t rows, int64_t columns) {
  return (rows + 2 * line<T>)*(columns + 2 * line<T>);
}

/// Copies rows x columns elements to `buffer`, in the order in which they lie, but close together.
template <class T>
Matrix<const T> compact(Matrix<const T> a, int64_t rows, int64_t columns, T* buffer) {
  if (a.row_stride == 1 && a.col_stride != 1) return compact(a.transposed(), columns, rows, buffer).transposed();
  const int64_t stride = compact_stride<T>(columns);
  for_each_row(rows, columns, [&](int64_t i) {
    const T* from = a.data + i * a.row_stride;
    T* to = buffer + i * stride;
    if (a.col_stride == 1) {
      std::copy_n(from, columns, to);
    } else {
      for (int64_t j = 0; j < columns; ++j) to[j] = from[j * a.col_stride];
    }
  });
  return {buffer, stride, 1};
}

/// A copy of few columns that is dense along them.
template <class T>
Matrix<const T> dense_columns(Matrix<const T> b, int64_t depth, int64_t width, Buffer<T>& buffer) {
  T* const to = buffer.room(width * depth);
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t j = 0; j < width; ++j) to[j * depth + p] = *b.at(p, j).data;
  }
  return {to, 1, depth};
}

}  // namespace reel::kernels
