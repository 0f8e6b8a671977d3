#include "autograd/kernels/matmul.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "autograd/kernels/machine.h"
#include "autograd/kernels/product.h"
#include "autograd/kernels/simd.h"
#include "autograd/kernels/tile.h"
#include "tests/catch.h"
#include "tests/threads.h"

using namespace reel::kernels;
using reel::tests::WithThreads;

namespace {

/// A matrix in memory of its own, with gaps and an end that hold NaN: reading one too many shows in the result.
template <class T>
struct Operand {
  std::vector<T> memory;
  int64_t row_stride, col_stride;

  Matrix<const T> matrix() const { return {memory.data(), row_stride, col_stride}; }
  T at(int64_t i, int64_t j) const { return memory[static_cast<std::size_t>(i * row_stride + j * col_stride)]; }
  T& at(int64_t i, int64_t j) { return memory[static_cast<std::size_t>(i * row_stride + j * col_stride)]; }
};

enum class Layout { rows, transposed, padded_rows, padded_transposed, scattered, far_columns };
constexpr std::array all_layouts = {Layout::rows, Layout::transposed, Layout::padded_rows, Layout::padded_transposed,
                                    Layout::scattered};

template <class T>
Operand<T> random_matrix(int64_t rows, int64_t columns, Layout layout, unsigned seed) {
  Operand<T> x;
  switch (layout) {
    case Layout::rows:
      x.row_stride = columns, x.col_stride = 1;
      break;
    case Layout::transposed:
      x.row_stride = 1, x.col_stride = rows;
      break;
    case Layout::padded_rows:
      x.row_stride = columns + 5, x.col_stride = 1;
      break;
    case Layout::padded_transposed:
      x.row_stride = 1, x.col_stride = rows + 3;
      break;
    case Layout::scattered:
      x.row_stride = 3 * columns + 1, x.col_stride = 3;
      break;
    case Layout::far_columns:
      x.row_stride = 1, x.col_stride = rows + 1021;  // a page of f32, and more
      break;
  }
  const int64_t size = rows == 0 || columns == 0 ? 0 : (rows - 1) * x.row_stride + (columns - 1) * x.col_stride + 1;
  x.memory.assign(static_cast<std::size_t>(size), std::numeric_limits<T>::quiet_NaN());
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      x.memory[static_cast<std::size_t>(i * x.row_stride + j * x.col_stride)] = static_cast<T>(uniform(random));
    }
  }
  return x;
}

template <class T>
Operand<T> banded_matrix(int64_t rows, int64_t columns, Layout layout, Band band, unsigned seed) {
  Operand<T> x = random_matrix<T>(rows, columns, layout, seed);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (j < i + band.begin || j >= i + band.end) x.at(i, j) = 0;
    }
  }
  return x;
}

template <class T>
std::vector<T> random_vector(int64_t size, unsigned seed) {
  return random_matrix<T>(1, size, Layout::rows, seed).memory;
}

/// Element (i, j) of the product, and what rounding may make of it.
template <class T>
struct Expected {
  double value, tolerance;

  Expected(const Operand<T>& a, const Operand<T>& b, int64_t k, int64_t i, int64_t j) : value(0), tolerance(0) {
    for (int64_t p = 0; p < k; ++p) {
      const double product = static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
      value += product;
      tolerance += std::abs(product);
    }
    tolerance = (tolerance + 3) * std::sqrt(static_cast<double>(k + 4)) * std::numeric_limits<T>::epsilon();
  }
};

template <class T>
void check_product(int64_t m, int64_t n, int64_t k, Layout a_layout, Layout b_layout, bool accumulate, bool bias,
                   bool relu) {
  CAPTURE(m, n, k, static_cast<int>(a_layout), static_cast<int>(b_layout), accumulate, bias, relu);
  const Operand<T> a = random_matrix<T>(m, k, a_layout, 1), b = random_matrix<T>(k, n, b_layout, 2);
  const std::vector<T> before = random_vector<T>(m * (n + 3), 3), shift = random_vector<T>(n, 4);
  std::vector<T> c = before;
  matmul(m, n, k, a.matrix(), b.matrix(), c.data(), n + 3, {accumulate, bias ? shift.data() : nullptr, relu});

  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n + 3; ++j) {
      const auto at = static_cast<std::size_t>(i * (n + 3) + j);
      if (j >= n) {
        wrong += c[at] != before[at];  // between the rows of c nothing may change
        continue;
      }
      Expected<T> expected(a, b, k, i, j);
      if (accumulate) expected.value += static_cast<double>(before[at]);
      if (bias) expected.value += static_cast<double>(shift[static_cast<std::size_t>(j)]);
      if (relu) expected.value = std::max(expected.value, 0.0);
      wrong += !(std::abs(static_cast<double>(c[at]) - expected.value) <= expected.tolerance);  // NaN is wrong too
    }
  }
  CHECK(wrong == 0);
}

template <class T>
std::vector<int64_t> interesting_sizes() {
  constexpr int64_t half = lanes<T> / 2;
  return {0, 1, half, half + 1, lanes<T> - 1, lanes<T>, lanes<T> + 1, lanes<T> + half, 13, 14, 15, 29, 64, 100, 129};
}

}  // namespace

TEMPLATE_TEST_CASE("matmul at every size and layout", "[matmul]", float, double) {
  // Each size meets each other in two of the three places; layouts and epilogues take turns.
  const std::vector<int64_t> sizes = interesting_sizes<TestType>();
  int turn = 0;
  for (int64_t first : sizes) {
    for (int64_t second : sizes) {
      const int64_t third = sizes[static_cast<std::size_t>(turn) % sizes.size()];
      for (auto [m, n, k] : {std::array{first, second, third}, {first, third, second}, {third, first, second}}) {
        const auto a_layout = static_cast<std::size_t>(turn % 5), b_layout = static_cast<std::size_t>(turn / 5 % 5);
        check_product<TestType>(m, n, k, all_layouts[a_layout], all_layouts[b_layout], turn % 2 == 1, turn % 3 == 1,
                                turn % 7 == 1);
        ++turn;
      }
    }
  }
}

TEMPLATE_TEST_CASE("matmul in all layouts, with every epilogue", "[matmul]", float, double) {
  for (Layout a : all_layouts) {
    for (Layout b : all_layouts) {
      check_product<TestType>(1, 70, 33, a, b, false, false, false);  // vectors
      check_product<TestType>(1, 300, 300, a, b, true, true, true);
      check_product<TestType>(70, 1, 33, a, b, false, true, false);
      check_product<TestType>(1, 1, 300, a, b, false, false, false);
      check_product<TestType>(64, 64, 600, a, b, false, true, true);   // several slabs
      check_product<TestType>(300, 100, 20, a, b, true, false, true);  // several blocks
      check_product<TestType>(20, 600, 20, a, b, true, true, false);
      check_product<TestType>(150, 100, 40, a, b, false, true, false);  // blocks as tall as c
      check_product<TestType>(150, 98, 600, a, b, true, true, true);    // two last columns, too few for tiles
      check_product<TestType>(40, 1 + 2 * lanes<TestType>, 100, a, b, false, false, true);
      check_product<TestType>(70, 2, 64, a, b, false, true, false);
    }
  }
  check_product<TestType>(150, 300, 600, Layout::rows, Layout::transposed, true, false, false);
  // Rows of b are far apart, far for low tiles alone, or not.
  for (int64_t n : {int64_t{264}, 25 * lanes<TestType>, 12 * lanes<TestType>}) {
    check_product<TestType>(500, n, 70, Layout::rows, Layout::rows, false, true, true);
  }
}

TEMPLATE_TEST_CASE("matmul in whole tiles of two heights, of every small depth", "[matmul]", float, double) {
  for (Layout a : all_layouts) {
    for (int64_t k = 0; k <= 2 * tile_rows + 4; ++k) {
      check_product<TestType>(2 * tile_rows - 1, 4 * lanes<TestType>, k, a, Layout::rows, false, k % 2 == 1, false);
    }
  }
}

TEMPLATE_TEST_CASE("matmul with rows that collide in the cache", "[matmul]", float, double) {
  constexpr int64_t apart = page / static_cast<int64_t>(sizeof(TestType));
  check_product<TestType>(30, 130, apart, Layout::rows, Layout::rows, false, true, false);
  check_product<TestType>(500, 70, apart, Layout::rows, Layout::rows, true, true, false);   // blocks of so many rows
  check_product<TestType>(300, 130, apart, Layout::rows, Layout::rows, true, true, false);  // and columns of blocks
  check_product<TestType>(150, 300, apart, Layout::rows, Layout::rows, true, false, true);  // c is wide: shallow slabs
  check_product<TestType>(apart, 130, 30, Layout::transposed, Layout::rows, false, false, false);
  check_product<TestType>(30, apart, 30, Layout::rows, Layout::rows, false, false, true);
  check_product<TestType>(150, apart, 30, Layout::rows, Layout::rows, false, false, true);
  for (int64_t m : {tile_rows, tile_rows + 1}) {  // a tile, and two
    check_product<TestType>(m, apart, 30, Layout::rows, Layout::rows, false, false, true);
    check_product<TestType>(m, apart, 600, Layout::rows, Layout::rows, false, true, false);  // several slabs
  }
  check_product<TestType>(500, apart, 30, Layout::rows, Layout::rows, true, true, false);  // several rows of blocks
  check_product<TestType>(60, apart, 70, Layout::rows, Layout::rows, true, false, false);  // one row of blocks
  check_product<TestType>(60, 130, apart, Layout::rows, Layout::transposed, true, true, false);
}

TEMPLATE_TEST_CASE("matmul with rows or columns about two lines, or an eighth of a page, apart", "[matmul]", float,
                   double) {
  constexpr int64_t two_lines = 2 * line<TestType>, apart = page / 8 / static_cast<int64_t>(sizeof(TestType));
  for (int64_t width : {two_lines - 1, two_lines, apart - lanes<TestType>, apart - 1, apart, apart + lanes<TestType>}) {
    for (int64_t k : {63, 64}) {
      for (int64_t m : {tile_rows, tile_rows + 1, 4 * tile_rows - 1, 4 * tile_rows}) {
        check_product<TestType>(m, width, k, Layout::rows, Layout::rows, m == tile_rows, m == 4 * tile_rows, false);
      }
      check_product<TestType>(width, 40, k, Layout::transposed, Layout::rows, false, false, true);
    }
  }
}

TEMPLATE_TEST_CASE("b is copied where MATMUL.md says that it is", "[matmul]", float, double) {
  using T = TestType;
  constexpr int64_t n = 2 * lanes<T>, on_page = page / static_cast<int64_t>(sizeof(T));
  auto is_copied = [](int64_t m, int64_t k, int64_t row_stride) {
    return choose<T>({.m = m,
                      .n = n,
                      .k = k,
                      .a = {nullptr, k, 1},
                      .b = {nullptr, row_stride, 1},
                      .c = nullptr,
                      .c_stride = n})
        .packs_b;
  };
  // A page apart, or several.
  for (int64_t stride : {on_page, 3 * on_page}) {
    CHECK_FALSE(is_copied(tile_rows, 30, stride));
    CHECK(is_copied(tile_rows + 1, 30, stride) == tiles_are_low);
    CHECK(is_copied(4 * tile_rows - 1, 30, stride) == tiles_are_low);
    CHECK(is_copied(4 * tile_rows, 30, stride));
  }
  // Two lines apart, but not an eighth of a page.
  for (int64_t stride : {2 * line<T>, on_page / 8 + lanes<T>}) {
    CHECK_FALSE(is_copied(tile_rows, 64, stride));
    CHECK(is_copied(tile_rows + 1, 64, stride) == tiles_are_low);
    CHECK_FALSE(is_copied(4 * tile_rows, 63, stride));
  }
  CHECK_FALSE(is_copied(4 * tile_rows, 64, 2 * line<T> - lanes<T>));
  // An eighth of a page apart, or beginning within vectors.
  for (int64_t stride : {on_page / 8, lanes<T> + 1}) {
    CHECK_FALSE(is_copied(4 * tile_rows - 1, 30, stride));
    CHECK(is_copied(4 * tile_rows, 30, stride) == tiles_are_low);
  }
}

TEMPLATE_TEST_CASE("matmul with columns that are far apart", "[matmul]", float, double) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{600, 130, 70},  // blocks as wide as c
                                {100, 300, 300},
                                {150, 300, 400},  // blocks as tall as c, several slabs
                                {200, 130, 200},
                                {300, 130, 280},  // rows and columns of blocks
                                {15, 98, 600},
                                {14, 70, 64},
                                {5, 130, 70}}) {  // tiles too low to copy anything
    check_product<TestType>(m, n, k, Layout::far_columns, Layout::rows, m == 600, m == 100, m == 15);
    check_product<TestType>(m, n, k, Layout::far_columns, Layout::transposed, false, true, false);
  }
}

TEMPLATE_TEST_CASE("matmul of a banded matrix leaves out what is zero", "[matmul]", float, double) {
  using T = TestType;
  for (Layout layout : {Layout::rows, Layout::transposed, Layout::padded_rows, Layout::padded_transposed,
                        Layout::scattered, Layout::far_columns}) {
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 40, 30},
                           {30, 1, 40},
                           {50, 40, 60},
                           {40, 100, 1100},
                           {500, 70, 1024},
                           {60, 98, 600}}) {
      for (const Band band : {Band{}, Band{.end = 1}, Band{.begin = 0}, Band{-3, 5}, Band{.end = -20},
                              Band{.begin = 25}, Band{.begin = 500, .end = 900}, Band{.end = -2000}}) {
        CAPTURE(static_cast<int>(layout), m, n, k, band.begin, band.end);
        const Operand<T> a = banded_matrix<T>(m, k, layout, band, 1);
        const std::vector<T> before = random_vector<T>(m * n, 3);
        for (Layout b_layout : {Layout::rows, Layout::transposed}) {
          const Operand<T> b = random_matrix<T>(k, n, b_layout, 2);
          std::vector<T> whole = before, banded = before;
          matmul(m, n, k, a.matrix(), b.matrix(), whole.data(), n, {.accumulate = n == 40});
          matmul(m, n, k, a.matrix(), b.matrix(), banded.data(), n, {.accumulate = n == 40}, band);
          CHECK(banded == whole);  // zeros add nothing
        }
      }
    }
  }
  // 14 rows are a tile at most: what all of them have zeros for is not even read.
  Operand<T> b = random_matrix<T>(60, 40, Layout::rows, 2);
  const Band band{.begin = 10, .end = 20};
  const Operand<T> a = banded_matrix<T>(14, 60, Layout::rows, band, 1);
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::fill_n(b.memory.begin(), 10 * 40, nan);
  std::fill_n(b.memory.begin() + 33 * 40, (60 - 33) * 40, nan);
  std::vector<T> c(14 * 40);
  matmul(14, 40, 60, a.matrix(), b.matrix(), c.data(), 40, {}, band);
  CHECK(std::none_of(c.begin(), c.end(), [](T value) { return std::isnan(value); }));
}

TEMPLATE_TEST_CASE("matmul of nothing", "[matmul]", float, double) {
  using T = TestType;
  const std::vector<T> bias = {1, -2};
  std::vector<T> c = {10, 20, 30, 40};
  matmul(2, 2, 0, {nullptr, 0, 1}, {nullptr, 2, 1}, c.data(), 2, {true, bias.data(), false});
  CHECK(c == std::vector<T>{11, 18, 31, 38});
  matmul(2, 2, 0, {nullptr, 0, 1}, {nullptr, 2, 1}, c.data(), 2, {false, bias.data(), true});
  CHECK(c == std::vector<T>{1, 0, 1, 0});
  matmul(2, 2, 0, {nullptr, 0, 1}, {nullptr, 2, 1}, c.data(), 2);
  CHECK(c == std::vector<T>(4, 0));
}

TEMPLATE_TEST_CASE("matmul passes NaN and infinity on", "[matmul]", float, double) {
  using T = TestType;
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  for (int64_t m : {1, 2}) {
    const std::vector<T> a(static_cast<std::size_t>(2 * m), T(1)), b = {nan, infinity, 1, 2, -3, 4};
    std::vector<T> c(static_cast<std::size_t>(3 * m));
    matmul(m, 3, 2, {a.data(), 2, 1}, {b.data(), 3, 1}, c.data(), 3, {false, nullptr, true});
    CHECK(std::isnan(c[0]));
    CHECK(c[1] == infinity);
    CHECK(c[2] == 5);
    matmul(m, 2, 3, {b.data(), 0, 1}, {b.data(), 1, 3}, c.data(), 2, {false, nullptr, true});
    CHECK(std::isnan(c[0]));
    CHECK(std::isnan(c[1]));
  }
}

TEMPLATE_TEST_CASE("batched_matmul strides and broadcasts", "[matmul]", float, double) {
  using T = TestType;
  struct Case {
    std::vector<int64_t> batch, a_strides, b_strides;  // strides count matrices
  };
  const std::vector<Case> cases = {
      {{}, {}, {}},
      {{5}, {1}, {1}},
      {{5}, {1}, {0}},
      {{5}, {0}, {1}},
      {{2, 3}, {3, 1}, {3, 1}},
      {{2, 3}, {3, 1}, {1, 0}},
      {{2, 3}, {0, 1}, {1, 2}},
      {{2, 1, 3}, {1, 0, 2}, {0, 7, 1}},
      {{3, 0, 2}, {1, 1, 1}, {1, 1, 1}},
      {{1, 2, 1, 2, 1, 1, 2, 1}, {0, 4, 0, 2, 0, 0, 1, 0}, {0, 1, 0, 2, 0, 0, 4, 0}},
  };
  for (const Case& each : cases) {
    for (auto [m, n, k] : {std::array<int64_t, 3>{7, 9, 5}, {1, 40, 17}, {33, 1, 20}, {29, 37, 64}}) {
      for (Layout layout : {Layout::rows, Layout::transposed}) {
        CAPTURE(each.batch, m, n, k, static_cast<int>(layout));
        // 8 matrices each, one below the other or side by side.
        const bool by_rows = layout == Layout::rows;
        const Operand<T> a = by_rows ? random_matrix<T>(8 * m, k, layout, 1) : random_matrix<T>(m, 8 * k, layout, 1);
        const Operand<T> b = by_rows ? random_matrix<T>(8 * k, n, layout, 2) : random_matrix<T>(k, 8 * n, layout, 2);
        int64_t count = 1;
        std::vector<int64_t> a_strides, b_strides;
        for (std::size_t axis = 0; axis < each.batch.size(); ++axis) {
          count *= each.batch[axis];
          a_strides.push_back(each.a_strides[axis] * m * k);
          b_strides.push_back(each.b_strides[axis] * k * n);
        }
        std::vector<T> c(static_cast<std::size_t>(count * m * n), T(100));
        batched_matmul(each.batch, m, n, k, a.matrix(), a_strides, b.matrix(), b_strides, c.data(),
                       {true, nullptr, false});

        int64_t wrong = 0;
        for (int64_t index = 0; index < count; ++index) {
          int64_t a_matrix = 0, b_matrix = 0, left = index;
          for (std::size_t axis = each.batch.size(); axis-- > 0; left /= each.batch[axis]) {
            a_matrix += left % each.batch[axis] * each.a_strides[axis];
            b_matrix += left % each.batch[axis] * each.b_strides[axis];
          }
          std::vector<T> single(static_cast<std::size_t>(m * n), T(100));
          Matrix<const T> a_single = a.matrix(), b_single = b.matrix();
          a_single.data += a_matrix * m * k;
          b_single.data += b_matrix * k * n;
          matmul(m, n, k, a_single, b_single, single.data(), n, {true, nullptr, false});
          for (std::size_t i = 0; i < single.size(); ++i) {
            const double got = static_cast<double>(c[static_cast<std::size_t>(index * m * n) + i]);
            wrong += !(std::abs(got - static_cast<double>(single[i])) <= 200 * std::numeric_limits<T>::epsilon());
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEMPLATE_TEST_CASE("a product has the same bits on any number of threads", "[matmul]", float, double) {
  using T = TestType;
  for (auto [m, n, k] : {std::array<int64_t, 3>{300, 301, 302},
                         {1, 5000, 300},
                         {5000, 1, 300},
                         {50, 600, 600},
                         {500, 70, 1024},
                         {500, 98, 600}}) {
    for (const Layout layout : {Layout::rows, Layout::transposed, Layout::far_columns}) {
      const Operand<T> a = random_matrix<T>(m, k, layout, 1), b = random_matrix<T>(k, n, layout, 2);
      std::vector<std::vector<T>> results;
      for (int count : {1, 2, 3}) {
        const WithThreads with(count);
        std::vector<T> c(static_cast<std::size_t>(m * n));
        matmul(m, n, k, a.matrix(), b.matrix(), c.data(), n);
        results.push_back(c);
      }
      CHECK(results[0] == results[1]);
      CHECK(results[0] == results[2]);
    }
  }
  const std::vector<int64_t> batch = {60}, stride = {64 * 64};
  const Operand<T> a = random_matrix<T>(60 * 64, 64, Layout::rows, 1),
                   b = random_matrix<T>(60 * 64, 64, Layout::rows, 2);
  std::vector<std::vector<T>> results;
  for (int count : {1, 2, 3}) {
    const WithThreads with(count);
    std::vector<T> c(static_cast<std::size_t>(60 * 64 * 64));
    batched_matmul(batch, 64, 64, 64, a.matrix(), stride, b.matrix(), stride, c.data());
    results.push_back(c);
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}
