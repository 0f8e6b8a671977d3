#include "autograd/kernels/matmul.h"

#include <algorithm>
#include <vector>

#include "autograd/kernels/pack.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"
#include "autograd/kernels/tile.h"

namespace reel::kernels {
namespace {

// A panel is what a column of tiles needs of b: `panel_depth` rows of it, one tile wide. The tiles take turns on it,
// one below the other, while it stays in the first cache and the rows of a that they walk along stay in the second.
constexpr int64_t panel_depth = 256;

// A block of c is what one thread works on: small enough that there are several, large enough to use a panel often,
// above all one that has to be packed first.
constexpr int64_t block_tiles = 8;
constexpr int64_t block_tiles_if_packed = 16;
constexpr int64_t block_panels = 8;

// Multiplications, some microseconds of them. Fewer are not worth a second thread.
constexpr int64_t chunk_work = 250'000;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Part `index` of `total` items that are shared out evenly.
Range share(int64_t total, int64_t parts, int64_t index) {
  return {total * index / parts, total * (index + 1) / parts};
}

/// One product, and how c is cut up: into rows of tiles of nearly equal height, and columns of panels.
template <class T>
struct Product {
  int64_t m, n, k;
  Matrix<const T> a, b;
  T* c;
  int64_t c_stride;
  Epilogue<T> epilogue;

  int64_t tiles() const { return divide_up(m, tile_rows); }
  int64_t panels() const { return divide_up(n, panel_width<T>); }
  int64_t row_blocks() const { return divide_up(tiles(), packs_b() ? block_tiles_if_packed : block_tiles); }
  int64_t column_blocks() const { return divide_up(panels(), block_panels); }
  int64_t blocks() const { return row_blocks() * column_blocks(); }

  /// b is read as it lies where its rows are dense, and not each in another page of memory: then a copy costs more
  /// than it gains, as it does for a few rows of c.
  bool packs_b() const {
    constexpr int64_t page = 4096 / sizeof(T);
    return b.col_stride != 1 || (b.row_stride >= page && tiles() > 2);
  }

  T* at(int64_t row, int64_t column) const { return c + row * c_stride + column; }
};

/// What remains to be done to the sums over depths.begin .. depths.end, of all k.
template <class T>
Epilogue<T> epilogue_of(const Product<T>& x, Range depths, int64_t first_column) {
  const bool first = depths.begin == 0, last = depths.end == x.k;
  return {x.epilogue.accumulate || !first, last && x.epilogue.bias ? x.epilogue.bias + first_column : nullptr,
          last && x.epilogue.relu};
}

/// Rows of c under one panel of b, `a` being their part of a.
template <class T>
void multiply_panel(const Product<T>& x, Range tiles, Range columns, Range depths, Matrix<const T> a) {
  const int64_t depth = depths.size(), width = columns.size();
  alignas(vector_alignment) T packed[panel_depth * panel_width<T>];
  Matrix<const T> b = x.b.at(depths.begin, columns.begin);
  if (x.packs_b() || (!has_masks && width % lanes<T> != 0)) {
    pack_panel(b, depth, width, packed);
    b = {packed, panel_width<T>, 1};
  }
  const Epilogue<T> epilogue = epilogue_of(x, depths, columns.begin);
  const TileKernels<T>& kernels = tile_kernels_for<T>(width);
  const int64_t first_row = share(x.m, x.tiles(), tiles.begin).begin;
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    const Range rows = share(x.m, x.tiles(), t);
    const TileKernel<T> kernel = kernels[static_cast<std::size_t>(rows.size() - 1)];
    kernel(depth, a.at(rows.begin - first_row, 0), b.data, b.row_stride, x.at(rows.begin, columns.begin), x.c_stride,
           width, epilogue);
  }
}

/// A block of c: panel by panel, and so for every `panel_depth` of the k products that go into its elements.
template <class T>
void multiply_tiles(const Product<T>& x, Range tiles, Range rows, Range panels) {
  const int64_t steps = std::max<int64_t>(1, divide_up(x.k, panel_depth));
  for (int64_t step = 0; step < steps; ++step) {
    const Range depths = share(x.k, steps, step);
    Matrix<const T> a = x.a.at(rows.begin, depths.begin);
    // Mostly a is as good as a copy. But its rows may evict each other, and then one copy helps all panels.
    if (panels.size() > 2 && collides<T>(std::max(a.row_stride, a.col_stride))) {
      thread_local std::vector<T> buffer(
          static_cast<std::size_t>(compact_size<T>(block_tiles_if_packed * tile_rows, panel_depth)));
      a = compact(a, rows.size(), depths.size(), buffer.data());
    }
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      const Range columns = {p * panel_width<T>, std::min(x.n, (p + 1) * panel_width<T>)};
      multiply_panel(x, tiles, columns, depths, a);
    }
  }
}

/// Rows scalar products with x at once, so that x is loaded once for all of them.
template <class T, int Rows>
void dot_rows(int64_t k, const T* rows, int64_t row_stride, const T* x, T* result) {
  constexpr int chains = 2;  // with 4 rows, enough independent additions to hide their latency
  Vec<T> sum[Rows][chains];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) sum[i][0] = sum[i][1] = splat(T(0));
  int64_t p = 0;
  for (; p + chains * lanes<T> <= k; p += chains * lanes<T>) {
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const T* row = rows + i * row_stride + p;
      sum[i][0] = fma(load(row), load(x + p), sum[i][0]);
      sum[i][1] = fma(load(row + lanes<T>), load(x + p + lanes<T>), sum[i][1]);
    }
  }
  for (; p < k; p += lanes<T>) {
    const int64_t rest = std::min(k - p, lanes<T>);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      sum[i][0] = fma(load_n(rows + i * row_stride + p, rest), load_n(x + p, rest), sum[i][0]);
    }
  }
  for (int i = 0; i < Rows; ++i) result[i] = reduce_add(Vec<T>(sum[i][0] + sum[i][1]));
}

/// A matrix with dense rows times a dense vector: elements `range` of the m x 1 or 1 x n result.
template <class T>
void multiply_vector(const Product<T>& x, Range range) {
  const bool is_row = x.m == 1;  // of a and b, one is the vector and the other holds the rows
  const T* rows = is_row ? x.b.data : x.a.data;
  const T* vector = is_row ? x.a.data : x.b.data;
  const int64_t row_stride = is_row ? x.b.col_stride : x.a.row_stride;
  const Epilogue<T>& epilogue = x.epilogue;
  constexpr int at_once = 4;
  for (int64_t i = range.begin; i < range.end;) {
    T results[at_once];
    const bool full = i + at_once <= range.end;
    (full ? dot_rows<T, at_once> : dot_rows<T, 1>)(x.k, rows + i * row_stride, row_stride, vector, results);
    for (int r = 0; r < (full ? at_once : 1); ++r, ++i) {
      T& to = is_row ? *x.at(0, i) : *x.at(i, 0);
      T value = results[r];
      if (epilogue.accumulate) value += to;
      if (epilogue.bias) value += epilogue.bias[is_row ? i : 0];
      if (epilogue.relu && value < 0) value = 0;
      to = value;
    }
  }
}

template <class T>
void multiply_block(const Product<T>& x, int64_t block) {
  const Range tiles = share(x.tiles(), x.row_blocks(), block / x.column_blocks());
  const Range rows = {share(x.m, x.tiles(), tiles.begin).begin, share(x.m, x.tiles(), tiles.end).begin};
  Range panels = share(x.panels(), x.column_blocks(), block % x.column_blocks());
  if ((x.m == 1 || x.n == 1) && x.a.col_stride == 1 && x.b.row_stride == 1) {
    multiply_vector(x,
                    x.m == 1 ? Range{panels.begin * panel_width<T>, std::min(x.n, panels.end * panel_width<T>)} : rows);
    return;
  }
  if (x.m == 1 && x.b.col_stride == 1) {
    constexpr int64_t wide = wide_vectors * lanes<T> / panel_width<T>;
    for (; panels.size() >= wide && (panels.begin + wide) * panel_width<T> <= x.n; panels.begin += wide) {
      const int64_t j = panels.begin * panel_width<T>;
      multiply_tile<T, 1, wide_vectors, false>(x.k, x.a, x.b.at(0, j).data, x.b.row_stride, x.at(0, j), x.c_stride,
                                               wide_vectors * lanes<T>, epilogue_of(x, {0, x.k}, j));
    }
  }
  multiply_tiles(x, tiles, rows, panels);
}

template <class T>
Product<T> product_of(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, T* c, int64_t c_stride,
                      const Epilogue<T>& epilogue) {
  if (n == 1 && c_stride == 1 && a.row_stride == 1 && !epilogue.bias) {
    // A dense column is as good as a row, and (a b)' = b' a' has dense vectors.
    return {1, m, k, b.transposed(), a.transposed(), c, m, epilogue};
  }
  return {m, n, k, a, b, c, c_stride, epilogue};
}

/// Chunks of a parallel loop over blocks: as many as make up enough work.
template <class T>
int64_t blocks_per_chunk(const Product<T>& x) {
  const int64_t work = x.m * x.n * x.k / x.blocks();
  return divide_up(chunk_work, std::max<int64_t>(work, 1));
}

}  // namespace

template <class T>
void matmul(int64_t m, int64_t n, int64_t k, std::type_identity_t<Matrix<const T>> a,
            std::type_identity_t<Matrix<const T>> b, T* c, int64_t c_stride,
            const std::type_identity_t<Epilogue<T>>& epilogue) {
  if (m == 0 || n == 0) return;
  const Product<T> product = product_of(m, n, k, a, b, c, c_stride, epilogue);
  parallel_for(product.blocks(), blocks_per_chunk(product), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) multiply_block(product, block);
  });
}

template <class T>
void batched_matmul(Sizes batch, int64_t m, int64_t n, int64_t k, std::type_identity_t<Matrix<const T>> a,
                    Sizes a_strides, std::type_identity_t<Matrix<const T>> b, Sizes b_strides, T* c,
                    const std::type_identity_t<Epilogue<T>>& epilogue) {
  int64_t count = 1;
  for (int64_t size : batch) count *= size;
  if (count == 0 || m == 0 || n == 0) return;
  const Nest<2> nest(batch, {a_strides, b_strides});
  int64_t along = nest.row_length();
  if (nest.row_stride(1) == 0 && nest.row_stride(0) == m * a.row_stride) {
    // The same b for matrices that lie one below the other: one tall product.
    m *= along;
    count /= along;
    along = 1;
  }
  const Product<T> first = product_of(m, n, k, a, b, c, n, epilogue);
  const int64_t blocks = first.blocks();
  parallel_for(count * blocks, blocks_per_chunk(first), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = i / blocks;
      const auto [a_offset, b_offset] = nest.offsets(index / along);
      Matrix<const T> a_here = a, b_here = b;
      a_here.data += a_offset + index % along * nest.row_stride(0);
      b_here.data += b_offset + index % along * nest.row_stride(1);
      multiply_block(product_of(m, n, k, a_here, b_here, c + index * m * n, n, epilogue), i % blocks);
    }
  });
}

template void matmul(int64_t, int64_t, int64_t, Matrix<const float>, Matrix<const float>, float*, int64_t,
                     const Epilogue<float>&);
template void matmul(int64_t, int64_t, int64_t, Matrix<const double>, Matrix<const double>, double*, int64_t,
                     const Epilogue<double>&);
template void batched_matmul(Sizes, int64_t, int64_t, int64_t, Matrix<const float>, Sizes, Matrix<const float>, Sizes,
                             float*, const Epilogue<float>&);
template void batched_matmul(Sizes, int64_t, int64_t, int64_t, Matrix<const double>, Sizes, Matrix<const double>, Sizes,
                             double*, const Epilogue<double>&);

}  // namespace reel::kernels
