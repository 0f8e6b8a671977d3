#include "autograd/kernels/tile.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace reel::kernels {
namespace {

/// Which lanes of its last vector a tile needs: all, some, or none beyond the lower half, which then is all that is
/// computed.
enum class Edge { whole, partial, half };

/// While products are added, memory is asked for more. Each of the first products asks for a row of c, until all rows
/// are asked for; at most half of the products do that. Each of the others (in a low tile, every second one) asks for a
/// line of what the thread reads next (Upcoming). A high tile's last three ask for nothing: they are added row by row,
/// at the end.
constexpr int64_t last_products = tiles_are_low ? 0 : 3, products_per_line = tiles_are_low ? 2 : 1;

/// A low tile has 12 FMAs and 8 loads for each product of its elements. They take 6 cycles, in which a core can begin
/// 36 instructions; but a thread that shares it with another has hardly more than half of them. So what else a loop
/// does is kept short: four products are one turn of it.
constexpr int64_t products_per_turn = tiles_are_low ? 4 : 1;
static_assert(products_per_turn % products_per_line == 0);

/// x, of which compilers must not see where it comes from: they would rather carry an address for each row along, or
/// compute them all ahead, for which there are not enough registers.
template <class X>
[[gnu::always_inline]] inline X opaque(X x) {
  asm("" : "+r"(x));
  return x;
}

/// The columns of a, one after the other. A load can add 1, 2 or 4 times a register to its address at no cost, and a
/// constant. With three strides in a register of their own, it is enough to have an address for every fifth row, and
/// only these addresses move on. A low tile needs a single one if columns are dense; and if rows are, its addresses
/// move on once a turn: by constants, which compilers that unroll a loop leave to its loads.
template <class T, int Rows, Dense dense>
class Columns {
 public:
  explicit Columns(const Matrix<const T>& a)
      : stride_(opaque(a.row_stride * element)), three_strides_(opaque(3 * stride_)), step_(a.col_stride * element) {
    row_0_ = reinterpret_cast<const char*>(a.data);
    if (has_row_5) row_5_ = row_0_ + 5 * stride_;
    if (has_row_10) row_10_ = row_5_ + 5 * stride_;
  }

  const T* data() const { return reinterpret_cast<const T*>(row_0_); }

  [[gnu::always_inline]] T operator[](int row) const {
    if (one_address) return data()[row];
    const char* const near = row < 5 ? row_0_ : row < 10 ? row_5_ : row_10_;
    return *reinterpret_cast<const T*>(near + (row % 5 == 3 ? three_strides_ : row % 5 * stride_));
  }

  /// Asks for a later column, if columns are dense: its one or two lines did not come with other columns, and all of a
  /// round's products would wait for them.
  [[gnu::always_inline]] void fetch_ahead() const {
    constexpr std::ptrdiff_t columns = 8;
    const char* const later = row_0_ + columns * step_;
    __builtin_prefetch(later, 0, 3);
    __builtin_prefetch(later + (Rows - 1) * element, 0, 3);
  }

  /// Those from `count` columns further on.
  [[gnu::always_inline]] Columns after(std::ptrdiff_t count) const {
    Columns later = *this;
    later.row_0_ = opaque(row_0_ + count * step_);
    if (has_row_5) later.row_5_ = opaque(row_5_ + count * step_);
    if (has_row_10) later.row_10_ = opaque(row_10_ + count * step_);
    return later;
  }

  [[gnu::always_inline]] void move_on() {
    if constexpr (dense == Dense::rows && tiles_are_low) {
      // Compilers are to see that addresses move on by constants, but still not to make one for each row.
      stride_ = opaque(stride_);
      three_strides_ = opaque(three_strides_);
      row_0_ += element;
      if (has_row_5) row_5_ += element;
    } else {
      *this = after(1);
    }
  }

 private:
  static_assert(Rows <= 15);
  static constexpr std::ptrdiff_t element = sizeof(T);
  static constexpr bool one_address = dense == Dense::columns && tiles_are_low;
  static constexpr bool has_row_5 = Rows > 5 && !one_address, has_row_10 = Rows > 10 && !one_address;

  std::ptrdiff_t stride_, three_strides_, step_;  // bytes
  const char *row_0_, *row_5_ = nullptr, *row_10_ = nullptr;
};

/// What a tile may do besides: leave a copy of the rows of b that it reads, or of the columns of a. Thus the first tile
/// of a panel packs it for the tiles below, or those of the first panel pack a for the panels beside it, at next to no
/// cost, for what is short is multipliers, not loads and stores.
struct Extras {
  bool copies_b = false, copies_a = false;
};

/// Columns of a are fetched ahead where that pays: if they are dense and the tile is high.
constexpr bool fetches_ahead(Dense lines_of_a) { return lines_of_a == Dense::columns && !tiles_are_low; }

/// One tile of a column, whose a, c and copy are its own.
template <class T, int Rows, int Vectors, Edge edge, Dense dense, Extras extras>
[[gnu::always_inline]] inline void multiply_tile(const TileColumn<T>& column, const T* a, T* c, Upcoming& upcoming,
                                                 [[maybe_unused]] T* copy) {
  static_assert(!(extras.copies_b || extras.copies_a) || edge == Edge::whole);
  static_assert(!(extras.copies_b && extras.copies_a));
  constexpr int last = Vectors - 1, whole_vectors = edge == Edge::half ? last : Vectors;
  const int64_t depth = column.depth, b_stride = column.b_stride, c_stride = column.c_stride, width = column.width;
  const T* b = column.b;
  const bool has_last = last_products > 0 && depth >= last_products;
  const int64_t products = has_last ? depth - last_products : depth, with_c = std::min<int64_t>(Rows, products / 2);
  int64_t left = products - with_c;
  Lines* const next = upcoming.next();
  int64_t fetches = next ? std::min(next->left, left / products_per_line) : 0;
  left -= fetches * products_per_line;
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
    if constexpr (extras.copies_b) {
      constexpr int64_t rows_ahead = 16;  // about as many rounds as memory takes to answer
      prefetch_run<Vectors * lanes<T>, 3>(b + rows_ahead * b_stride, Vectors * lanes<T>);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) store(copy + v * lanes<T>, row.vectors[v]);
      copy += Vectors * lanes<T>;
    }
    b += b_stride;
    return row;
  };
  auto add_product = [&](int i, T a_element, const RowOfB& b_row) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int v = 0; v < whole_vectors; ++v) sum[i][v] = fma(splat(a_element), b_row.vectors[v], sum[i][v]);
    if constexpr (edge == Edge::half) half_sum[i] = fma(a_element, b_row.half, half_sum[i]);
  };

  Columns<T, Rows, dense> columns({a, column.a.row_stride, column.a.col_stride});
  [[maybe_unused]] auto copy_column = [&](const T* from) __attribute__((always_inline)) {
    static_assert(tile_stride<T> == lanes<T> || !extras.copies_a);
    store(copy, load_n(from, Rows));
    copy += tile_stride<T>;
  };
  auto add_products = [&]() __attribute__((always_inline)) {
    const RowOfB b_row = next_row_of_b();
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) add_product(i, columns[i], b_row);
    if constexpr (extras.copies_a) copy_column(columns.data());
    if constexpr (fetches_ahead(dense)) columns.fetch_ahead();
    columns.move_on();
  };

  // Memory is asked for more meanwhile, but for little at a time, so that a and b do not have to wait.
  const T* row_of_c = c;
  for (int64_t i = with_c; i > 0; --i) {
    prefetch_run<Vectors * lanes<T>, 2>(row_of_c, width);
    row_of_c += c_stride;
    add_products();
  }
  if (fetches > 0) {
    Lines lines = *next;  // in registers
    while (fetches > 0) {
      const int64_t run = std::min(fetches, lines.left_in_row);
      // Two products can stand here side by side. Of four, GCC 12 no longer keeps all sums in their registers; but if
      // it unrolls the loop over lines, of which it does not know how many there are, it does.
#pragma GCC unroll products_per_turn / products_per_line
      for (int64_t i = run; i > 0; --i) {
        lines.fetch();
#pragma GCC unroll products_per_line
        for (int64_t q = 0; q < products_per_line; ++q) add_products();
      }
      lines.count_off(run);
      fetches -= run;
    }
    *next = lines;
  }
#pragma GCC unroll products_per_turn
  for (int64_t i = left; i > 0; --i) add_products();

  // A high tile's last products are added row by row, so that a row is stored while others are still added up: next to
  // multiplications, stores take no time. But branches do: without anything else to add, there are none. If there are
  // fewer products than that, these are zeros. A low tile would have no registers for three rows of b.
  RowOfB b_rows[std::max<int64_t>(last_products, 1)] = {};
  const T zero = 0;
  if (has_last) {
#pragma GCC unroll 8
    for (RowOfB& b_row : b_rows) b_row = next_row_of_b();
    if constexpr (extras.copies_a) {
#pragma GCC unroll 8
      for (int64_t q = 0; q < last_products; ++q) copy_column(columns.data() + q * column.a.col_stride);
    }
  } else {
    columns = Columns<T, Rows, dense>({&zero, 0, 0});
  }
  const bool accumulate = column.epilogue.accumulate, relu = column.epilogue.relu;
  const T* const bias = column.epilogue.bias;
  const bool is_plain = !accumulate && !bias && !relu;
  auto finish_rows = [&](auto plain) __attribute__((always_inline)) {
    static_assert(last_products <= 3);
    const Columns<T, Rows, dense> last_columns[] = {columns.after(0), columns.after(1), columns.after(2)};
    T* row = c;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i, row = opaque(row + c_stride)) {
#pragma GCC unroll 8
      for (int64_t q = 0; q < last_products; ++q) add_product(i, last_columns[q][i], b_rows[q]);
      if constexpr (edge == Edge::half) sum[i][last] = widen(half_sum[i]);
      if constexpr (!plain) {
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
  };
  if (is_plain) {
    finish_rows(std::true_type());
  } else {
    finish_rows(std::false_type());
  }
}

/// A TileKernel for tiles of this height, and widths that take this many vectors.
template <class T, int Rows, int Vectors, Edge edge, Dense dense = Dense::neither, Extras extras = Extras{}>
void multiply_column(const TileColumn<T>& column, Upcoming& upcoming) {
  const T* a = column.a.data;
  T *c = column.c, *copy = column.copy;
  for (int64_t left = column.count; left > 0; --left) {
    multiply_tile<T, Rows, Vectors, edge, dense, extras>(column, a, c, upcoming, copy);
    a += column.a_step;
    c += Rows * column.c_stride;
    copy += column.copy_step;
  }
}

/// Kernels of all heights; those that copy are never low (copying_kernels).
template <class T, int Vectors, Edge edge, Dense dense = Dense::neither, Extras extras = Extras{}>
constexpr TileKernels<T> tile_kernels = []<int... I>(std::integer_sequence<int, I...>) {
  auto kernel = []<int Rows>(std::integral_constant<int, Rows>) -> TileKernel<T> {
    if constexpr ((extras.copies_b || extras.copies_a) && Rows < lowest_copying_tile)
      return nullptr;
    else
      return &multiply_column<T, Rows, Vectors, edge, dense, extras>;
  };
  return TileKernels<T>{kernel(std::integral_constant<int, I + 1>())...};
}
(std::make_integer_sequence<int, tile_rows>());

/// The kernels for two whole vectors and an a that lies so, if there are any of their own: each takes a tenth of a
/// second to compile. There are none in f64, which is for checking gradients, nor for a low tile that copies b, one of
/// many; and high tiles gain nothing by dense rows.
template <class T, Extras extras = Extras{}>
const TileKernels<T>& whole_kernels(Dense lines_of_a) {
  if constexpr (std::is_same_v<T, float> && !(tiles_are_low && extras.copies_b)) {
    if (lines_of_a == Dense::columns) return tile_kernels<T, 2, Edge::whole, Dense::columns, extras>;
    if constexpr (tiles_are_low) {
      if (lines_of_a == Dense::rows) return tile_kernels<T, 2, Edge::whole, Dense::rows, extras>;
    }
  }
  return tile_kernels<T, 2, Edge::whole, Dense::neither, extras>;
}

/// Those that need `rest` lanes of their last vector.
template <class T, int Vectors>
const TileKernels<T>& tile_kernels_with(int64_t rest) {
  if (rest == lanes<T>) return tile_kernels<T, Vectors, Edge::whole>;
  if constexpr (has_halves<T>) {
    if (rest <= half_lanes<T>) return tile_kernels<T, Vectors, Edge::half>;
  }
  return tile_kernels<T, Vectors, Edge::partial>;
}

}  // namespace

template <class T>
const TileKernels<T>& tile_kernels_for(int64_t width, Dense lines_of_a) {
  if (width == 2 * lanes<T>) return whole_kernels<T>(lines_of_a);
  return width > lanes<T> ? tile_kernels_with<T, 2>(width - lanes<T>) : tile_kernels_with<T, 1>(width);
}

template <class T>
const TileKernels<T>& copying_kernels(Dense lines_of_a) {
  return whole_kernels<T, Extras{.copies_b = true}>(lines_of_a);
}

template <class T>
const TileKernels<T>& column_copying_kernels() {
  if constexpr (copies_columns<T>)
    return tile_kernels<T, 2, Edge::whole, Dense::columns, Extras{.copies_a = true}>;
  else
    return tile_kernels_for<T>(2 * lanes<T>, Dense::columns);
}

template <class T>
TileKernel<T> wide_kernel() {
  return &multiply_column<T, 1, wide_vectors, Edge::whole>;
}

template const TileKernels<float>& tile_kernels_for<float>(int64_t, Dense);
template const TileKernels<double>& tile_kernels_for<double>(int64_t, Dense);
template const TileKernels<float>& copying_kernels<float>(Dense);
template const TileKernels<double>& copying_kernels<double>(Dense);
template const TileKernels<float>& column_copying_kernels<float>();
template const TileKernels<double>& column_copying_kernels<double>();
template TileKernel<float> wide_kernel<float>();
template TileKernel<double> wide_kernel<double>();

}  // namespace reel::kernels
