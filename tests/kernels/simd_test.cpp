#include "autograd/kernels/simd.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

namespace {

/// 1, 2, 3, ...
template <class T>
std::vector<T> counting(int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i + 1);
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("load and store move a whole vector, at any address", "[simd]", float, double) {
  constexpr int64_t n = lanes<TestType>;
  std::vector<TestType> from = counting<TestType>(n + 1), to(from.size(), 0);
  store(to.data() + 1, load(from.data() + 1));
  CHECK(to[0] == 0);
  CHECK(std::equal(from.begin() + 1, from.end(), to.begin() + 1));
}

TEMPLATE_TEST_CASE("load_n fills, store_n leaves the rest alone", "[simd]", float, double) {
  constexpr int64_t width = lanes<TestType>;
  for (int64_t n = 0; n <= width; ++n) {
    std::vector<TestType> from = counting<TestType>(n);  // one element more would be out of bounds
    Array<TestType> loaded = to_array<TestType>(load_n(from.data(), n, TestType(-7)));
    std::vector<TestType> to(static_cast<std::size_t>(width), TestType(100));
    store_n(to.data(), splat(TestType(3)), n);
    for (int64_t i = 0; i < width; ++i) {
      auto at = static_cast<std::size_t>(i);
      CHECK(loaded[at] == (i < n ? from[at] : TestType(-7)));
      CHECK(to[at] == (i < n ? TestType(3) : TestType(100)));
    }
  }
}

TEMPLATE_TEST_CASE("arithmetic and choice", "[simd]", float, double) {
  using T = TestType;
  Vec<T> x = load(counting<T>(lanes<T>).data());
  CHECK(to_array<T>(fma(x, x, splat(T(-1)))).back() == T(lanes<T> * lanes<T> - 1));
  CHECK(to_array<T>(max(x, splat(T(2))))[0] == 2);
  CHECK(to_array<T>(min(x, splat(T(2)))).back() == 2);
  CHECK(to_array<T>(select(x > splat(T(1)), x, splat(T(-1))))[0] == -1);
  CHECK(to_array<T>(select(x > splat(T(1)), x, splat(T(-1))))[1] == 2);
  CHECK(to_array<T>(abs(splat(T(-3))))[0] == 3);
  CHECK(to_array<T>(sqrt(splat(T(9))))[0] == 3);
  CHECK(to_array<T>(negate(x)).back() == T(-lanes<T>));
  CHECK(std::signbit(to_array<T>(negate(splat(T(0))))[0]));
  CHECK(any(x == splat(T(lanes<T>))));
  CHECK_FALSE(any(x > splat(T(lanes<T>))));
}

TEMPLATE_TEST_CASE("divide rounds once, as the machine's own division does", "[simd]", float, double) {
  using T = TestType;
  for (int a = 1; a < 200; ++a) {
    for (int b = 1; b < 200; ++b) {
      const T quotient = static_cast<T>(a) / static_cast<T>(b);
      CHECK(to_array(divide(splat(static_cast<T>(a)), splat(static_cast<T>(b))))[0] == quotient);
    }
  }
  const T infinity = std::numeric_limits<T>::infinity();
  CHECK(to_array(divide(splat(T(-1)), splat(T(0))))[0] == -infinity);
  CHECK(to_array(divide(splat(T(1)), splat(infinity)))[0] == 0);
}

TEMPLATE_TEST_CASE("max and min keep a NaN in their second operand", "[simd]", float, double) {
  using T = TestType;
  Vec<T> nan = splat(std::numeric_limits<T>::quiet_NaN()), one = splat(T(1));
  CHECK(std::isnan(to_array<T>(max(one, nan))[0]));
  CHECK(std::isnan(to_array<T>(min(one, nan))[0]));
  CHECK(any(is_nan(nan)));
  CHECK_FALSE(any(is_nan(one)));
}

TEMPLATE_TEST_CASE("store_interleaved takes from two vectors in turn", "[simd]", float, double, std::uint64_t) {
  using T = TestType;
  const std::vector<T> values = counting<T>(2 * lanes<T>);
  std::vector<T> turns(static_cast<std::size_t>(2 * lanes<T>));
  store_interleaved(turns.data(), load(values.data()), load(values.data() + lanes<T>));
  for (std::size_t i = 0; i < turns.size(); ++i) CHECK(turns[i] == values[i / 2 + i % 2 * turns.size() / 2]);
}

TEST_CASE("multiply_lower_halves sees the lower 32 bits, and keeps all 64 of the product", "[simd]") {
  constexpr std::uint64_t a = 0xfedcba98'ffffffff, b = 0x12345678'fffffffe, product = 0xfffffffd'00000002;
  CHECK(multiply_lower_halves(a, b) == product);
  std::vector<std::uint64_t> products(static_cast<std::size_t>(lanes<std::uint64_t>));
  store(products.data(), multiply_lower_halves(splat(a), splat(b)));
  for (const std::uint64_t each : products) CHECK(each == product);
}

TEMPLATE_TEST_CASE("half a vector, or the first n of its lanes", "[simd]", float) {
  using T = TestType;  // depends on it: where there are no halves, none of this is compiled
  if constexpr (has_halves<T>) {
    const std::vector<T> values = counting<T>(half_lanes<T>);
    for (int64_t n = 0; n <= half_lanes<T>; ++n) {
      const HalfVec<T> half = load_half_n(values.data(), n);
      const Array<T> thrice = to_array<T>(widen(fma(T(2), half, half)));
      for (int64_t i = 0; i < half_lanes<T>; ++i) {
        CHECK(thrice[static_cast<std::size_t>(i)] == (i < n ? 3 * T(i + 1) : T(0)));
      }
    }
  }
}

TEMPLATE_TEST_CASE("reductions see every lane", "[simd]", float, double) {
  using T = TestType;
  std::vector<T> values = counting<T>(lanes<T>);
  CHECK(reduce_add(load(values.data())) == T(lanes<T> * (lanes<T> + 1) / 2));
  for (T& value : values) {
    T before = std::exchange(value, T(1000));
    CHECK(reduce_max(load(values.data())) == 1000);
    value = before;
  }
  CHECK(reduce_max(splat(-std::numeric_limits<T>::infinity())) == -std::numeric_limits<T>::infinity());
}
