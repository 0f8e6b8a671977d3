#include "autograd/kernels/matmul.h"

#include <algorithm>
#include <array>
#include <utility>

#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {
namespace {

// The register tile: tile_rows x 2 vectors of c are summed up in registers, which leaves room for two vectors of b and
// one element of a. Each loaded vector of b is used tile_rows times, each element of a twice, so that the multipliers
// wait for neither.
constexpr int tile_vectors = 2;
constexpr int tile_rows = vector_registers == 32 ? 14 : 6;
template <class T>
constexpr int64_t panel_width = tile_vectors* lanes<T>;

// The panel: the columns of b that a tile needs, `panel_depth` of their rows. Tiles take turns on it, one below the
// other, while it stays in the first cache; the rows of a that they run over stay in the second.
constexpr int64_t panel_depth = 256;

// The block: what one thread works on. Large enough to reuse the panel often, small enough that there are several.
constexpr int64_t block_tiles = 16;
constexpr int64_t block_panels = 8;

// Multiplications; a microsecond or two. Less is not worth a second thread.
constexpr int64_t chunk_work = 250'000;

// A vector times a matrix has just one row to sum up: a wider tile reads longer runs of b.
constexpr int wide_vectors = 8;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// What becomes of the sums in a tile's registers.
template <class T>
Vec<T> finish(Vec<T> sum, const Epilogue<T>& epilogue, const Vec<T>& before, const Vec<T>& bias) {
  if (epilogue.accumulate) sum += before;
  if (epilogue.bias) sum += bias;
  if (epilogue.relu) sum = max(splat(T(0)), sum);
  return sum;
}

/// Rows x `width` elements of c, from Rows rows of a and `width` columns of b, of `depth` elements each. Vectors are
/// as many as cover the width; Partial says that they cover more.
template <class T, int Rows, int Vectors, bool Partial>
void tile(int64_t depth, Matrix<const T> a, const T* b, int64_t b_stride, T* c, int64_t c_stride, int64_t width,
          const Epilogue<T>& epilogue) {
  const int64_t rest = width - (Vectors - 1) * lanes<T>;  // of the last vector
  auto load_row = [rest](const T* from, int v) {
    return Partial && v == Vectors - 1 ? load_n(from + v * lanes<T>, rest) : load(from + v * lanes<T>);
  };

  // Local, and every loop over it unrolled, or else compilers keep it in memory.
  Vec<T> sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[i][v] = splat(T(0));
  }

  for (int64_t p = 0; p < depth; ++p, b += b_stride, a.data += a.col_stride) {
    Vec<T> b_row[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      // A packed panel is padded with zeros, so only a machine with masks need care about its end.
      b_row[v] = has_masks ? load_row(b, v) : load(b + v * lanes<T>);
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vec<T> a_element = splat(a.data[i * a.row_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[i][v] = fma(a_element, b_row[v], sum[i][v]);
    }
  }

#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) {
    const Vec<T> bias = epilogue.bias ? load_row(epilogue.bias, v) : splat(T(0));
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      T* to = c + i * c_stride;
      const Vec<T> before = epilogue.accumulate ? load_row(to, v) : splat(T(0));
      const Vec<T> value = finish(sum[i][v], epilogue, before, bias);
      if (Partial && v == Vectors - 1) {
        store_n(to + v * lanes<T>, value, rest);
      } else {
        store(to + v * lanes<T>, value);
      }
    }
  }
}

template <class T>
using Tile = decltype(&tile<T, 1, 1, false>);

/// tile<T, rows, Vectors, Partial> at index rows - 1
template <class T, int Vectors, bool Partial>
constexpr auto tiles_of_rows = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array<Tile<T>, tile_rows>{&tile<T, I + 1, Vectors, Partial>...};
}
(std::make_integer_sequence<int, tile_rows>());

template <class T>
const std::array<Tile<T>, tile_rows>& tiles_for(int64_t width) {
  static_assert(tile_vectors == 2);
  if (width == 2 * lanes<T>) return tiles_of_rows<T, 2, false>;
  if (width > lanes<T>) return tiles_of_rows<T, 2, true>;
  return width == lanes<T> ? tiles_of_rows<T, 1, false> : tiles_of_rows<T, 1, true>;
}

/// Copies `depth` rows of `width` elements of b next to each other, padded with zeros to panel_width.
template <class T>
void pack(Matrix<const T> b, int64_t depth, int64_t width, T* panel) {
  if (b.col_stride == 1) {
    for (int64_t p = 0; p < depth; ++p, panel += panel_width<T>, b.data += b.row_stride) {
      for (int64_t j = 0; j < panel_width<T>; j += lanes<T>) {
        int64_t valid = std::clamp<int64_t>(width - j, 0, lanes<T>);
        store(panel + j, valid == lanes<T> ? load(b.data + j) : load_n(b.data + j, valid));
      }
    }
  } else if (b.row_stride == 1) {
    // The columns lie along memory: read them as vectors and transpose square by square.
    for (int64_t p = 0; p < depth; p += lanes<T>) {
      const int64_t rows = std::min(depth - p, lanes<T>);
      for (int64_t j = 0; j < panel_width<T>; j += lanes<T>) {
        Vec<T> square[lanes<T>];
#pragma GCC unroll 16
        for (int64_t lane = 0; lane < lanes<T>; ++lane) {
          const T* column = b.data + (j + lane) * b.col_stride + p;
          square[lane] = j + lane >= width ? splat(T(0)) : rows == lanes<T> ? load(column) : load_n(column, rows);
        }
        transpose<T>(square);
#pragma GCC unroll 16
        for (int64_t row = 0; row < lanes<T>; ++row) {
          if (row < rows) store(panel + (p + row) * panel_width<T> + j, square[row]);
        }
      }
    }
  } else {
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t j = 0; j < panel_width<T>; ++j) {
        *panel++ = j < width ? b.data[p * b.row_stride + j * b.col_stride] : T(0);
      }
    }
  }
}

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Part `index` of `total` items shared out evenly.
Range share(int64_t total, int64_t parts, int64_t index) {
  return {total * index / parts, total * (index + 1) / parts};
}

/// One product, and how it is cut into blocks.
template <class T>
struct Product {
  int64_t m, n, k;
  Matrix<const T> a, b;
  T* c;
  int64_t c_stride;
  Epilogue<T> epilogue;

  int64_t tiles() const { return divide_up(m, tile_rows); }
  int64_t panels() const { return divide_up(n, panel_width<T>); }
  int64_t row_blocks() const { return divide_up(tiles(), block_tiles); }
  int64_t column_blocks() const { return divide_up(panels(), block_panels); }
  int64_t blocks() const { return row_blocks() * column_blocks(); }
};

/// Columns `columns` of c in the rows of tiles `tiles`, for the `depth` products that start at `start`.
template <class T>
void multiply_panel(const Product<T>& x, Range tiles, Range columns, Range depths, Epilogue<T> epilogue) {
  const int64_t width = columns.size(), depth = depths.size();
  // Few tiles do not pay for packing, if b can be read as it lies.
  const bool direct = x.b.col_stride == 1 && tiles.size() <= 4 && (has_masks || width % lanes<T> == 0);
  alignas(vector_alignment) T panel[panel_depth * panel_width<T>];
  Matrix<const T> b = x.b.at(depths.begin, columns.begin);
  if (!direct) {
    pack(b, depth, width, panel);
    b = {panel, panel_width<T>, 1};
  }
  if (epilogue.bias) epilogue.bias += columns.begin;
  const std::array<Tile<T>, tile_rows>& kernels = tiles_for<T>(width);
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    const Range rows = share(x.m, x.tiles(), t);
    kernels[static_cast<std::size_t>(rows.size() - 1)](depth, x.a.at(rows.begin, depths.begin), b.data, b.row_stride,
                                                       x.c + rows.begin * x.c_stride + columns.begin, x.c_stride, width,
                                                       epilogue);
  }
}

template <class T>
void multiply_block(const Product<T>& x, int64_t block) {
  const Range tiles = share(x.tiles(), x.row_blocks(), block / x.column_blocks());
  const Range panels = share(x.panels(), x.column_blocks(), block % x.column_blocks());
  const int64_t steps = std::max<int64_t>(1, divide_up(x.k, panel_depth));
  for (int64_t step = 0; step < steps; ++step) {
    Epilogue<T> epilogue = x.epilogue;
    if (step > 0) epilogue.accumulate = true;
    if (step < steps - 1) {  // bias and relu belong to the complete sums
      epilogue.bias = nullptr;
      epilogue.relu = false;
    }
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      const Range columns = {p * panel_width<T>, std::min(x.n, (p + 1) * panel_width<T>)};
      multiply_panel(x, tiles, columns, share(x.k, steps, step), epilogue);
    }
  }
}

}  // namespace

template <class T>
void batched_matmul(Sizes batch, int64_t m, int64_t n, int64_t k, std::type_identity_t<Matrix<const T>> a,
                    Sizes a_strides, std::type_identity_t<Matrix<const T>> b, Sizes b_strides, T* c,
                    const std::type_identity_t<Epilogue<T>>& epilogue) {
  int64_t products = 1;
  for (int64_t size : batch) products *= size;
  if (products == 0 || m == 0 || n == 0) return;
  const Nest<2> nest(batch, {a_strides, b_strides});
  Product<T> whole{m, n, k, a, b, c, n, epilogue};
  const int64_t blocks = whole.blocks();
  const int64_t work = std::max<int64_t>(1, m * n * k / blocks);
  parallel_for(products * blocks, divide_up(chunk_work, work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = i / blocks;
      const auto [a_offset, b_offset] = nest.offsets(index / nest.row_length());
      const int64_t along = index % nest.row_length();
      Product<T> product = whole;
      product.a.data += a_offset + along * nest.row_stride(0);
      product.b.data += b_offset + along * nest.row_stride(1);
      product.c += index * m * n;
      multiply_block(product, i % blocks);
    }
  });
}

template <class T>
void matmul(int64_t m, int64_t n, int64_t k, std::type_identity_t<Matrix<const T>> a,
            std::type_identity_t<Matrix<const T>> b, T* c, int64_t c_stride,
            const std::type_identity_t<Epilogue<T>>& epilogue) {
  if (m == 0 || n == 0) return;
  const Product<T> product{m, n, k, a, b, c, c_stride, epilogue};
  const int64_t work = std::max<int64_t>(1, m * n * k / product.blocks());
  parallel_for(product.blocks(), divide_up(chunk_work, work), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) multiply_block(product, block);
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
