#include "autograd/kernels/matmul.h"

#include <algorithm>
#include <utility>

#include "autograd/kernels/narrow.h"
#include "autograd/kernels/pack.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/kernels/product.h"
#include "autograd/kernels/rows.h"
#include "autograd/kernels/simd.h"
#include "autograd/kernels/tile.h"
#include "autograd/kernels/transpose.h"

namespace reel::kernels {
namespace {

// From this many matrices in a batch on, each thread takes whole ones. Fewer are multiplied one by one, by all threads.
constexpr int64_t large_batch = 8;

// The first tiles of a block, so many, fetch a panel of b while they multiply. By then they have read their own rows of
// a: only the rows of tiles below these are worth fetching.
constexpr int64_t tiles_that_wait = 4;

/// b as tiles read it: panels, how far apart they lie, and how far apart their rows do.
template <class T>
struct Panels {
  const T* first;
  int64_t stride, row_stride;
  const T* at(int64_t p) const { return first + p * stride; }
};

/// Rows of a, as they lie or in a copy that is like them; and packed, if they are: column q of tile t at (t, q).
template <class T>
struct RowsOfA {
  Matrix<const T> rows, tiles{};
};

/// The part of a product that goes through some of its k: both operands as its blocks read them, unless a block copies
/// its own part.
template <class T>
struct Slab {
  Range depths;
  RowsOfA<T> a;
  Panels<T> b;
  Matrix<const T> narrow_b{};  // the last panel, if it is narrow
};

/// Copies of all panels that tiles read, one after another.
template <class T>
Panels<T> packed_panels(const Plan<T>& x, Range depths, Buffer<T>& buffer) {
  const int64_t depth = depths.size(), stride = depth * panel_width<T>;
  const int64_t panels = x.how.cut.panels - (x.how.ends_narrow ? 1 : 0);
  T* const first = buffer.room(x.how.cut.panels * stride);  // announce() may list the narrow one's lines, too
  parallel_for(panels, divide_up(copies_per_chunk, panel_width<T> * std::max<int64_t>(depth, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t p = begin; p < end; ++p) {
                   const Range columns = x.columns({p, p + 1});
                   pack_panel(x.b.at(depths.begin, columns.begin), depth, columns.size(), first + p * stride);
                 }
               });
  return {first, stride, panel_width<T>};
}

/// Copies of some tiles of a, one after another.
template <class T>
Matrix<const T> packed_tiles(const Plan<T>& x, Range depths, Range tiles, Buffer<T>& buffer) {
  const int64_t depth = depths.size(), size = depth * tile_stride<T>;
  const Matrix<T> packed{buffer.room(tiles.size() * size), size, tile_stride<T>};
  parallel_for(tiles.size(), divide_up(copies_per_chunk, size), [&](int64_t begin, int64_t end) {
    // Neighbouring tiles read the same lines of a. These are still in the first cache if they are few: it has 8 places
    // for lines that collide.
    constexpr int64_t columns_at_once = 8;
    static_assert(columns_at_once <= many_strides / 2, "a that is packed has more columns in each slab");
    const Matrix<const T> a = x.a.at(0, depths.begin);
    const Parts all = x.how.cut.tiles;
    for_each_overlapping(depth, columns_at_once, [&](int64_t p) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t row = all.begin(tiles.begin + t);
        pack_tile(a.at(row, p), x.m - row, columns_at_once, packed.at(t, p).data);
      }
    });
  });
  return packed;
}

/// A copy of some tiles' rows of a.
template <class T>
RowsOfA<T> copied_rows(const Plan<T>& x, Range depths, Range tiles, Buffer<T>& buffer) {
  const Range rows = x.rows(tiles);
  const Matrix<const T> a = x.a.at(rows.begin, depths.begin);
  if (x.how.packs_a) return {a, packed_tiles(x, depths, tiles, buffer)};
  return {compact(a, rows.size(), depths.size(), buffer.room(compact_size<T>(rows.size(), depths.size())))};
}

/// Packs and copies what many blocks read faster that way, into buffers of the thread that starts the product.
template <class T>
Slab<T> prepare(const Plan<T>& x, Range depths) {
  Slab<T> slab{depths, {x.a.at(0, depths.begin)}, {x.b.at(depths.begin, 0).data, panel_width<T>, x.b.row_stride}};
  if (x.copied_b() == Copied::by_all) {
    thread_local Buffer<T> buffer;
    slab.b = packed_panels(x, depths, buffer);
  }
  if (x.copied_a() == Copied::by_all) {
    thread_local Buffer<T> buffer;
    slab.a = copied_rows(x, depths, {0, x.how.cut.tiles.count}, buffer);
  }
  if (x.how.ends_narrow) {
    slab.narrow_b = x.b.at(depths.begin, x.columns({x.how.cut.panels - 1, x.how.cut.panels}).begin);
    if (!x.how.along_columns && x.b.row_stride != 1) {
      thread_local Buffer<T> buffer;
      slab.narrow_b = dense_columns(slab.narrow_b, depths.size(), x.n % panel_width<T>, buffer);
    }
  }
  return slab;
}

/// The rows of a that a block's tiles read; in a buffer of this thread, if the block copies them.
template <class T>
RowsOfA<T> rows_of_a(const Plan<T>& x, const Slab<T>& slab, Range tiles) {
  if (x.copied_a() == Copied::by_block) {
    thread_local Buffer<T> buffer;
    return copied_rows(x, slab.depths, tiles, buffer);
  }
  return {slab.a.rows.at(x.rows(tiles).begin, 0), slab.a.tiles.at(tiles.begin, 0)};
}

/// The first or the last of a block's tiles, whichever reads all that any of them reads of a panel; tiles.end if
/// neither does.
template <class T>
int64_t widest_tile(const Plan<T>& x, Range depths, Range tiles) {
  const Range all = x.in_band(depths, x.rows(tiles));
  for (int64_t t : {tiles.begin, tiles.end - 1}) {
    const Range its_own = x.in_band(depths, x.rows({t, t + 1}));
    if (its_own.begin == all.begin && its_own.end == all.end) return t;
  }
  return tiles.end;
}

/// What a thread on step `here` fetches for step `next`: what nobody has read yet of a and b, and what the second cache
/// has lost since. Operands that fit a quarter of it may still be there, or soon will be.
template <class T>
void announce(const Plan<T>& x, const Slab<T>& slab, int64_t here, int64_t next, Upcoming& upcoming) {
  if (stays_near<T>(4 * x.k * (x.m + x.n))) return;
  const int64_t blocks = x.how.cut.blocks(), blocks_in_row = x.how.cut.column_blocks.count;
  const Range depths = x.how.cut.slabs[next / blocks], panels = x.panels_of(next % blocks);
  const bool same_slab = next / blocks == here / blocks, first_row = next % blocks < blocks_in_row;
  // A block as wide as c goes through all of b, and would lose what was fetched for the next.
  const bool loses_b = blocks_in_row > 1 && !stays_near<T>(depths.size() * x.n);
  if (x.copied_b() == Copied::by_all) {
    const int64_t size = panels.size() * depths.size() * panel_width<T>;
    if (same_slab && loses_b) upcoming.add(Matrix<const T>{slab.b.at(panels.begin), size, 1}, 1, size);
  } else if (first_row || loses_b) {
    const Range columns = x.columns(panels);
    upcoming.add(x.b.at(depths.begin, columns.begin), depths.size(), columns.size());
  }
  // These blocks each need all of a. But the next may be the first of them on this core, and another thread may have
  // written half of a. Its first tiles wait for their rows; meanwhile, those of the others are on their way.
  if (x.owns_panels() && x.how.cut.slabs.count == 1 && !x.how.along_columns && x.copied_a() == Copied::no) {
    const int64_t row = x.how.cut.tiles.begin(std::min(tiles_that_wait, x.how.cut.tiles.count));
    upcoming.add(x.a.at(row, 0), x.m - row, x.k);
  }
  // All blocks of a row need the same rows of a. The blocks of the row above share the fetching.
  const int64_t below = std::max(next, here + blocks_in_row);
  if (x.copied_a() != Copied::by_all && below < x.how.cut.steps()) {
    const Range below_depths = x.how.cut.slabs[below / blocks], rows = x.rows(x.tiles_of(below % blocks));
    const Range part = Parts(below_depths.size(), blocks_in_row)[here % blocks_in_row];
    upcoming.add(x.a.at(rows.begin, below_depths.begin + part.begin), rows.size(), part.size());
  }
}

/// The last columns of a block, where they are few. `a` is its rows.
template <class T>
void multiply_last_columns(const Plan<T>& x, const Slab<T>& slab, Matrix<const T> a, Range rows, Range columns,
                           const Epilogue<T>& epilogue) {
  const Range depths = x.in_band(slab.depths, rows);
  const int64_t skipped = depths.begin - slab.depths.begin;
  multiply_narrow<T>(rows.size(), columns.size(), depths.size(), a.at(0, skipped), slab.narrow_b.at(skipped, 0),
                     x.at(rows.begin, columns.begin), x.c_stride, epilogue);
}

/// A block of c: panel by panel, and down each along its tiles, those of the same height in one call. If it packs its
/// panels, one tile copies each for the others, where it can read it as it lies. If it packs its rows of a, so may the
/// tiles of the first panel.
template <class T>
void multiply_block(const Plan<T>& x, const Slab<T>& slab, Range tiles, Range panels) {
  thread_local Buffer<T> panel_buffer, tiles_buffer;
  const Range rows = x.rows(tiles);
  RowsOfA<T> a = rows_of_a(x, slab, tiles);
  const Dense lines_of_a = dense_lines(a.rows);  // columns, if tiles are packed
  const bool packs_panels = x.copied_b() == Copied::by_block;
  const bool copies = packs_panels && x.b.col_stride == 1 && tiles.size() > 1;
  const int64_t copying_tile = copies ? widest_tile(x, slab.depths, tiles) : tiles.end;
  Upcoming& upcoming = Upcoming::of_this_thread();
  for (int64_t p = panels.begin; p < panels.end; ++p) {
    const Range columns = x.columns({p, p + 1});
    const Epilogue<T> epilogue = epilogue_of(x, slab.depths, columns.begin);
    if constexpr (has_masks) {
      if (p + 1 == x.how.cut.panels && x.how.ends_narrow) {
        multiply_last_columns(x, slab, a.rows, rows, columns, epilogue);
        continue;
      }
    }
    // The block's tile t leaves its copy of row q of b, or of column q of a, at (t, q) of `copy`.
    auto multiply_tiles = [&](Range some, const TileKernels<T>& kernels, Matrix<const T> b, Matrix<T> copy) {
      while (some.size() > 0) {
        const Range alike = x.alike(some), its_rows = x.rows(alike), depths = x.in_band(slab.depths, its_rows);
        const int64_t t = alike.begin - tiles.begin, q = depths.begin - slab.depths.begin;
        const int64_t height = x.how.cut.tiles.size_of(alike.begin);
        const bool is_packed = a.tiles.data != nullptr;
        const TileColumn<T> column{.count = alike.size(),
                                   .depth = depths.size(),
                                   .a = is_packed ? Matrix<const T>{a.tiles.at(t, q).data, 1, tile_stride<T>}
                                                  : a.rows.at(its_rows.begin - rows.begin, q),
                                   .a_step = is_packed ? a.tiles.row_stride : height * a.rows.row_stride,
                                   .b = b.at(q, 0).data,
                                   .b_stride = b.row_stride,
                                   .c = x.at(its_rows.begin, columns.begin),
                                   .c_stride = x.c_stride,
                                   .width = columns.size(),
                                   .epilogue = epilogue,
                                   .copy = copy.at(t, q).data,
                                   .copy_step = copy.row_stride};
        kernels[static_cast<std::size_t>(height - 1)](column, upcoming);
        some.begin = alike.end;
      }
    };
    Matrix<const T> b{slab.b.at(p), slab.b.row_stride, 1};
    Range left = tiles;
    if (packs_panels) {
      T* const panel = panel_buffer.room(slab.depths.size() * panel_width<T>);
      if (columns.size() == panel_width<T> && copying_tile != tiles.end) {
        multiply_tiles({copying_tile, copying_tile + 1}, copying_kernels<T>(lines_of_a), b, {panel, 0, panel_width<T>});
        left = copying_tile == tiles.begin ? Range{tiles.begin + 1, tiles.end} : Range{tiles.begin, copying_tile};
      } else {
        pack_panel(x.b.at(slab.depths.begin, columns.begin), slab.depths.size(), columns.size(), panel);
      }
      b = {panel, panel_width<T>, 1};
    }
    if (p == panels.begin && x.copied_a() == Copied::by_tiles) {
      const int64_t size = slab.depths.size() * tile_stride<T>;
      const Matrix<T> packed{tiles_buffer.room(tiles.size() * size), size, tile_stride<T>};
      multiply_tiles(tiles, column_copying_kernels<T>(), b, packed);
      a.tiles = packed;
    } else {
      multiply_tiles(left, tile_kernels_for<T>(columns.size(), lines_of_a), b, {});
    }
  }
}

/// A matrix with dense rows times a dense vector: elements `range` of the m x 1 or 1 x n result.
template <class T>
void multiply_vector(const Plan<T>& x, Range range) {
  const bool is_row = x.m == 1;  // of a and b, one is the vector and the other holds the rows
  const T* rows = is_row ? x.b.data : x.a.data;
  const T* vector = is_row ? x.a.data : x.b.data;
  const int64_t row_stride = is_row ? x.b.col_stride : x.a.row_stride;
  const Epilogue<T>& epilogue = x.epilogue;
  // Row after row, as they lie in memory: what comes from beyond the caches is then fetched ahead.
  for (int64_t i = range.begin; i < range.end; ++i) {
    T& to = is_row ? *x.at(0, i) : *x.at(i, 0);
    to = finished(
        epilogue, dot(x.k, rows + i * row_stride, vector), [&] { return to; },
        [&] { return epilogue.bias[is_row ? i : 0]; });
  }
}

/// One row of c, `panels` of it: a single row leaves registers free, and so its tile is made wider.
template <class T>
void multiply_row(const Plan<T>& x, Range panels) {
  constexpr int64_t wide = wide_vectors * lanes<T> / panel_width<T>;
  Upcoming& upcoming = Upcoming::of_this_thread();
  for (; panels.size() >= wide && (panels.begin + wide) * panel_width<T> <= x.n; panels.begin += wide) {
    const int64_t j = panels.begin * panel_width<T>;
    wide_kernel<T>()({.depth = x.k,
                      .a = x.a,
                      .b = x.b.at(0, j).data,
                      .b_stride = x.b.row_stride,
                      .c = x.at(0, j),
                      .c_stride = x.c_stride,
                      .width = wide_vectors * lanes<T>,
                      .epilogue = epilogue_of(x, {0, x.k}, j)},
                     upcoming);
  }
  multiply_block(x, {{0, x.k}, {x.a}, {x.b.data, panel_width<T>, x.b.row_stride}}, {0, 1}, panels);
}

/// body(block) for every block of c, on several threads.
template <class T, class Body>
void for_each_block(const Plan<T>& x, const Body& body) {
  const int64_t work = std::max<int64_t>(x.m * x.n * x.k, 1);
  const int64_t grain = x.how.cut.blocks() == 1 ? 1 : divide_up(multiplications_per_chunk * x.how.cut.blocks(), work);
  parallel_for(x.how.cut.blocks(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) body(block);
  });
}

template <class T>
void multiply_as_it_lies(const Plan<T>& x) {
  if ((x.m == 1 || x.n == 1) && x.a.col_stride == 1 && x.b.row_stride == 1) {
    return for_each_block(x, [&](int64_t block) {
      multiply_vector(x, x.m == 1 ? x.columns(x.panels_of(block)) : x.rows(x.tiles_of(block)));
    });
  }
  if (x.m == 1 && x.copied_b() == Copied::no) {
    return for_each_block(x, [&](int64_t block) { multiply_row(x, x.panels_of(block)); });
  }
  for (int64_t i = 0; i < x.how.cut.slabs.count; ++i) {
    const Slab<T> slab = prepare(x, x.how.cut.slabs[i]);
    if (x.how.cut.steps() == 1) {  // small products are many: no divisions, and nothing to announce
      return for_each_block(x, [&](int64_t) {
        multiply_block(x, slab, {0, x.how.cut.tiles.count}, {0, x.how.cut.panels});
      });
    }
    for_each_block(x, [&](int64_t block) {
      const int64_t step = i * x.how.cut.blocks() + block;
      auto announce_step = [&](int64_t next, Upcoming& upcoming) { announce(x, slab, step, next, upcoming); };
      const Fetching fetching(step, x.how.cut.steps(), announce_step);
      multiply_block(x, slab, x.tiles_of(block), x.panels_of(block));
    });
  }
}

/// By way of c' = b' a', which is turned round in the end.
template <class T>
void multiply_transposed(const Plan<T>& x, Plan<T> transposed) {
  thread_local Buffer<T> buffer;
  transposed.c = buffer.room(x.m * x.n);
  multiply_as_it_lies(transposed);
  parallel_for(x.how.cut.panels, divide_up(copies_per_chunk, panel_width<T> * x.m), [&](int64_t begin, int64_t end) {
    thread_local Buffer<T> panel_buffer;
    T* const panel = panel_buffer.room(x.m * panel_width<T>);
    for (int64_t p = begin; p < end; ++p) {
      const Range columns = x.columns({p, p + 1});
      pack_panel(Matrix<const T>{transposed.c + columns.begin * x.m, 1, x.m}, x.m, columns.size(), panel);
      const Epilogue<T> epilogue = epilogue_of(x, {0, x.k}, columns.begin);
      for (int64_t i = 0; i < x.m; ++i) {
        const T* const sums = panel + i * panel_width<T>;
        for_each_vector<T>(columns.size(), [&](int64_t j, int64_t count) {
          finish(epilogue, sums + j, j, count, x.at(i, columns.begin));
        });
      }
    }
  });
}

template <class T>
void multiply(const Plan<T>& x) {
  // A dense column is as good as a row, and (a b)' = b' a' has dense vectors. A band only saves work, here none.
  if (x.n == 1 && x.c_stride == 1 && x.a.row_stride == 1 && !x.epilogue.bias) {
    return multiply_as_it_lies(Plan<T>{{1, x.m, x.k, x.b.transposed(), x.a.transposed(), x.c, x.m, x.epilogue}});
  }
  // If c is low, it may be better to pack a instead of b, or neither.
  if (x.how.must_pack && 1 < x.m && x.m < std::min(x.n, x.k)) {
    const Plan<T> transposed{{x.n, x.m, x.k, x.b.transposed(), x.a.transposed(), nullptr, x.m}};
    if (cost(transposed) + 2 * x.m * x.n < cost(x)) return multiply_transposed(x, transposed);
  }
  multiply_as_it_lies(x);
}

}  // namespace

template <class T>
void matmul(int64_t m, int64_t n, int64_t k, std::type_identity_t<Matrix<const T>> a,
            std::type_identity_t<Matrix<const T>> b, T* c, int64_t c_stride,
            const std::type_identity_t<Epilogue<T>>& epilogue, Band a_band) {
  if (m == 0 || n == 0) return;
  multiply(Plan<T>{{m, n, k, a, b, c, c_stride, epilogue, a_band}});
}

template <class T>
void batched_matmul(Sizes batch, int64_t m, int64_t n, int64_t k, std::type_identity_t<Matrix<const T>> a,
                    Sizes a_strides, std::type_identity_t<Matrix<const T>> b, Sizes b_strides, T* c,
                    const std::type_identity_t<Epilogue<T>>& epilogue) {
  int64_t count = product(batch);
  if (count == 0 || m == 0 || n == 0) return;
  const Nest<2> nest(batch, {a_strides, b_strides});
  int64_t along = nest.row_length();
  if (nest.row_stride(1) == 0 && (m == 1 || nest.row_stride(0) == m * a.row_stride)) {
    // The same b for matrices that lie one below the other, as single rows always do: one tall product.
    if (m == 1) a.row_stride = nest.row_stride(0);
    m *= along;
    count /= along;
    along = 1;
  }
  auto offsets = [&](int64_t index) {
    const auto [a_offset, b_offset] = nest.offsets(index / along);
    const int64_t place = index % along;
    return std::pair(a_offset + place * nest.row_stride(0), b_offset + place * nest.row_stride(1));
  };
  const int64_t grain = divide_up(multiplications_per_chunk, std::max<int64_t>(m * n * k, 1));
  const int64_t announced = grain == 1 && !stays_near<T>(count * k * (m + n)) ? count : 0;
  auto announce = [&](int64_t next, Upcoming& upcoming) {
    const auto [a_offset, b_offset] = offsets(next);
    upcoming.add(Matrix<const T>{b.data + b_offset, b.row_stride, b.col_stride}, k, n);
    upcoming.add(Matrix<const T>{a.data + a_offset, a.row_stride, a.col_stride}, m, k);
  };
  const Plan<T> alike{{m, n, k, a, b, c, n, epilogue}};  // as they all are, except for where matrices lie
  auto multiply_matrices = [&](int64_t begin, int64_t end) {
    Plan<T> x = alike;
    for (int64_t index = begin; index < end; ++index) {
      const Fetching fetching(index, announced, announce);
      const auto [a_offset, b_offset] = offsets(index);
      x.a.data = a.data + a_offset;
      x.b.data = b.data + b_offset;
      x.c = c + index * m * n;
      multiply(x);
    }
  };
  if (count < large_batch) return multiply_matrices(0, count);
  parallel_for(count, grain, multiply_matrices);
}

template void matmul(int64_t, int64_t, int64_t, Matrix<const float>, Matrix<const float>, float*, int64_t,
                     const Epilogue<float>&, Band);
template void matmul(int64_t, int64_t, int64_t, Matrix<const double>, Matrix<const double>, double*, int64_t,
                     const Epilogue<double>&, Band);
template void batched_matmul(Sizes, int64_t, int64_t, int64_t, Matrix<const float>, Sizes, Matrix<const float>, Sizes,
                             float*, const Epilogue<float>&);
template void batched_matmul(Sizes, int64_t, int64_t, int64_t, Matrix<const double>, Sizes, Matrix<const double>, Sizes,
                             double*, const Epilogue<double>&);

}  // namespace reel::kernels
