#include "autograd/kernels/reduce.h"

#include <cmath>

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

namespace {

template <class T>
std::vector<double> plain_sum(int64_t outer, int64_t count, int64_t inner, const std::vector<T>& x) {
  std::vector<double> out(static_cast<std::size_t>(outer * inner));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t c = 0; c < count; ++c) {
      for (int64_t i = 0; i < inner; ++i) at(out, o * inner + i) += at(x, (o * count + c) * inner + i);
    }
  }
  return out;
}

template <class T>
void check_sum(int64_t outer, int64_t count, int64_t inner) {
  INFO(outer << " x " << count << " x " << inner);
  const std::vector<T> x = numbers<T>(outer * count * inner);
  std::vector<T> out(static_cast<std::size_t>(outer * inner + 1), T(100));
  sum(outer, count, inner, x.data(), out.data());
  const std::vector<double> want = plain_sum(outer, count, inner, x);
  const double tolerance = (sizeof(T) == 4 ? 1e-6 : 1e-14) * std::sqrt(static_cast<double>(count) + 1);
  for (int64_t i = 0; i < outer * inner; ++i) CHECK(at(out, i) == Approx(at(want, i)).margin(tolerance));
  CHECK(out.back() == 100);
}

}  // namespace

TEMPLATE_TEST_CASE("sum agrees with its twin", "[reduce]", float, double) {
  for (const int64_t count : awkward_sizes<TestType>()) {
    for (const int64_t outer : {1, 3}) {
      for (const int64_t inner : {int64_t{1}, int64_t{2}, lanes<TestType>, lanes<TestType> + 1}) {
        check_sum<TestType>(outer, count, inner);
      }
    }
  }
  check_sum<TestType>(0, 3, 1);
  check_sum<TestType>(3, 3, 0);
  check_sum<TestType>(1, 100'000, 1);  // several pieces
  check_sum<TestType>(2, 70'000, 1);
  check_sum<TestType>(1, 3000, 50);
  const int64_t strip = detail::strip_vectors * lanes<TestType>;
  for (const int64_t inner : {strip, 2 * strip + 3, 2 * strip + lanes<TestType>}) check_sum<TestType>(2, 77, inner);
}

TEST_CASE("a long sum is nearly as exact as its numbers", "[reduce]") {
  for (const int64_t count : {1000, 100'000, 1'000'003}) {
    const std::vector<float> x(static_cast<std::size_t>(count), 0.1f);
    float whole = 0, rows[2] = {};
    sum(1, count, 1, x.data(), &whole);
    sum(2, count / 2, 1, x.data(), rows);
    CHECK(whole == Approx(static_cast<double>(count) * 0.1f).epsilon(5e-7));
    CHECK(rows[1] == Approx(static_cast<double>(count / 2) * 0.1f).epsilon(5e-7));
  }
}

TEMPLATE_TEST_CASE("argmax agrees with its twin: the first of the largest, NaN above all", "[reduce]", float, double) {
  using T = TestType;
  for (const int64_t count : {int64_t{1}, int64_t{2}, lanes<T> + 1, int64_t{1025}}) {
    for (const int64_t outer : {0, 1, 3}) {
      for (const int64_t inner : {0, 1, 5}) {
        std::vector<T> x = numbers<T>(outer * count * inner);
        for (T& value : x) value = std::round(value * 4);  // ties
        if (x.size() > 1000) x[700] = x[701] = std::numeric_limits<T>::quiet_NaN();
        std::vector<std::int32_t> out(static_cast<std::size_t>(outer * inner + 1), 100);
        argmax(outer, count, inner, x.data(), out.data());
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t i = 0; i < inner; ++i) {
            const auto value = [&](int64_t c) { return at(x, (o * count + c) * inner + i); };
            int64_t first = 0;
            for (int64_t c = 0; c < count; ++c) {
              if (std::isnan(value(first))) break;
              if (std::isnan(value(c)) || value(c) > value(first)) first = c;
            }
            CHECK(at(out, o * inner + i) == first);
          }
        }
        CHECK(out.back() == 100);
      }
    }
  }
}
