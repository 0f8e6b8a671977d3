#include "autograd/kernels/map.h"

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

namespace {

const auto combine = [](auto a, auto b) { return a * b + a; };

/// The twin: out[i, j] = a b + a, element by element.
template <class T>
std::vector<T> plain_map(int64_t rows, int64_t columns, const T* a, Sizes a_strides, const T* b, Sizes b_strides) {
  std::vector<T> out;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const T u = a[i * a_strides[0] + j * a_strides[1]], v = b[i * b_strides[0] + j * b_strides[1]];
      out.push_back(u * v + u);
    }
  }
  return out;
}

template <class T>
void check_close(const std::vector<T>& got, const std::vector<T>& want) {
  REQUIRE(got.size() == want.size());
  // The compiler may round a b + a once or twice.
  constexpr double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-14;
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(tolerance).margin(tolerance));
}

}  // namespace

TEMPLATE_TEST_CASE("map agrees with its twin at awkward sizes and strides", "[map]", float, double) {
  using T = TestType;
  for (const int64_t n : awkward_sizes<T>()) {
    for (const int64_t rows : {1, 3}) {
      const std::vector<T> x = numbers<T>(7 * rows * n + 1, 1), y = numbers<T>(7 * rows * n + 1, 2);
      const std::vector<int64_t> sizes{rows, n}, dense{n, 1};
      for (const std::vector<int64_t>& strides : {dense, {1, rows}, {0, 1}, {1, 0}, {0, 0}, {7 * n, 7}, {n + 3, 1}}) {
        std::vector<T> out(static_cast<std::size_t>(rows * n));
        map(sizes, out.data(), dense, combine, Operand<T>{x.data(), strides}, Operand<T>{y.data(), dense});
        check_close(out, plain_map(rows, n, x.data(), strides, y.data(), dense));
        map(sizes, out.data(), dense, combine, Operand<T>{x.data(), dense}, Operand<T>{y.data(), strides});
        check_close(out, plain_map(rows, n, x.data(), dense, y.data(), strides));
      }
    }
  }
}

TEMPLATE_TEST_CASE("map takes long rows in pieces, gathered or not", "[map]", float, double) {
  using T = TestType;
  for (const int64_t n :
       {elements_per_chunk - 1, elements_per_chunk, elements_per_chunk + 1, 5 * elements_per_chunk / 2}) {
    const std::vector<T> x = numbers<T>(14 * n, 1), y = numbers<T>(2 * n + 5, 2);
    const std::vector<int64_t> sizes{2, n}, dense{n, 1}, apart{n + 5, 1};  // rows that are one, and two
    for (const std::vector<int64_t>& strides : {dense, {7 * n, 7}, {0, 0}}) {
      for (const std::vector<int64_t>& others : {dense, apart}) {
        std::vector<T> out(static_cast<std::size_t>(2 * n));
        map(sizes, out.data(), dense, combine, Operand<T>{x.data(), strides}, Operand<T>{y.data(), others});
        const std::vector<T> want = plain_map(2, n, x.data(), strides, y.data(), others);
        CHECK(std::equal(out.begin(), out.end(), want.begin(), [](T a, T b) {
          return std::abs(a - b) <= T(sizeof(T) == 4 ? 1e-6 : 1e-14) * (1 + std::abs(b));
        }));
      }
    }
  }
}

TEMPLATE_TEST_CASE("map writes nothing past its end", "[map]", float, double) {
  using T = TestType;
  for (const int64_t n : awkward_sizes<T>()) {
    const std::vector<T> x = numbers<T>(n);
    std::vector<T> out(static_cast<std::size_t>(n + 1), T(100));
    map(
        std::vector{n}, out.data(), std::vector<int64_t>{1}, [](auto v) { return -v; },
        Operand<T>{x.data(), std::vector<int64_t>{1}});
    for (int64_t i = 0; i < n; ++i) CHECK(at(out, i) == -at(x, i));
    CHECK(at(out, n) == 100);
  }
}

TEMPLATE_TEST_CASE("map may write over a contiguous operand", "[map]", float, double) {
  using T = TestType;
  const int64_t n = 40'000;
  std::vector<T> x = numbers<T>(n);
  const std::vector<T> before = x, two{2};
  const std::vector<int64_t> dense{1}, same{0};
  map(std::vector{n}, x.data(), dense, std::multiplies{}, Operand<T>{x.data(), dense}, Operand<T>{two.data(), same});
  for (int64_t i = 0; i < n; ++i) REQUIRE(at(x, i) == 2 * at(before, i));
}

TEMPLATE_TEST_CASE("map converts operands of integers", "[map]", float, double) {
  using T = TestType;
  const std::vector<std::int32_t> choice{1, 0, 2, 0, -1};
  const std::vector<T> x = numbers<T>(5), y = numbers<T>(5, 2);
  const std::vector<int64_t> sizes{5}, dense{1};
  std::vector<T> out(5);
  map(
      sizes, out.data(), dense, [](auto test, auto a, auto b) { return select(test != splat(T(0)), a, b); },
      Operand<std::int32_t>{choice.data(), dense}, Operand<T>{x.data(), dense}, Operand<T>{y.data(), dense});
  CHECK(out == std::vector<T>{x[0], y[1], x[2], y[3], x[4]});
}

TEMPLATE_TEST_CASE("a value does not depend on where it stands", "[map]", float, double) {
  using T = TestType;
  const int64_t n = 3 * lanes<T> - 1;
  const std::vector<T> x(static_cast<std::size_t>(n), T(0.7));
  std::vector<T> out(x.size());
  map(
      std::vector{n}, out.data(), std::vector<int64_t>{1}, [](auto v) { return exp(v) / (splat(T(1)) + v); },
      Operand<T>{x.data(), std::vector<int64_t>{1}});
  for (const T value : out) CHECK(value == out[0]);
}
