#include "autograd/kernels/updates.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "tests/catch.h"
#include "tests/threads.h"

using namespace reel::kernels;

namespace {

std::vector<int64_t> sizes(int64_t width) { return {0, 1, width - 1, width, width + 1, 70000}; }

/// n normal numbers and one more, which no kernel may touch.
template <class T>
std::vector<T> random_values(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(normal(random)));
  values.push_back(std::numeric_limits<T>::max());
  return values;
}

template <class T>
void check_close(const std::vector<T>& got, const std::vector<T>& expected) {
  REQUIRE(got.size() == expected.size());
  int64_t wrong = 0;
  for (std::size_t i = 0; i + 1 < got.size(); ++i) {
    const double allowed = 16 * std::numeric_limits<T>::epsilon() * (1 + std::abs(expected[i]));
    wrong += !(std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i])) <= allowed);  // NaN is, too
  }
  CHECK(wrong == 0);
  CHECK(got.back() == std::numeric_limits<T>::max());
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Calls body() with 1, 2 and 3 threads.
template <class Body>
void with_threads(const Body& body) {
  for (int count : {1, 2, 3}) {
    const reel::tests::WithThreads with(count);
    body();
  }
}

}  // namespace

TEMPLATE_TEST_CASE("updates: sgd agrees with its naive twin", "", float, double) {
  using T = TestType;
  const T rate = T(0.1), momentum = T(0.9), decay = T(0.01);
  for (int64_t n : sizes(lanes<T>)) {
    for (bool with_momentum : {false, true}) {
      INFO(n << " numbers, momentum " << with_momentum);
      const std::vector<T> x = random_values<T>(n, 1), gradient = random_values<T>(n, 2), v = random_values<T>(n, 3);
      std::vector<T> expected_x = x, expected_v = v;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        T g = gradient[i] + decay * x[i];
        if (with_momentum) g = expected_v[i] = momentum * v[i] + g;
        expected_x[i] = x[i] - rate * g;
      }

      std::vector<T> first_x, first_v;
      with_threads([&] {
        std::vector<T> got_x = x, got_v = v;
        sgd<T>(n, got_x.data(), gradient.data(), with_momentum ? got_v.data() : nullptr, rate, momentum, decay);
        check_close(got_x, expected_x);
        check_close(got_v, expected_v);
        if (first_x.empty()) first_x = got_x, first_v = got_v;
        CHECK(same_bits(got_x, first_x));
        CHECK(same_bits(got_v, first_v));
      });
    }
  }
}

TEMPLATE_TEST_CASE("updates: adam agrees with its naive twin", "", float, double) {
  using T = TestType;
  const AdamStep<T> step{.rate = T(0.1),
                         .beta1 = T(0.9),
                         .gain1 = T(0.1),
                         .beta2 = T(0.99),
                         .gain2 = T(0.01),
                         .root_scale = T(3),
                         .epsilon = T(0.01),
                         .gradient_decay = T(0.2),
                         .shrink = T(0.95)};
  for (int64_t n : sizes(lanes<T>)) {
    INFO(n << " numbers");
    const std::vector<T> x = random_values<T>(n, 1), gradient = random_values<T>(n, 2), m = random_values<T>(n, 3);
    std::vector<T> v = random_values<T>(n, 4);
    for (T& value : v) value = std::abs(value);  // a mean of squares
    std::vector<T> expected_x = x, expected_m = m, expected_v = v;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const T g = gradient[i] + step.gradient_decay * x[i];
      expected_m[i] = step.beta1 * m[i] + step.gain1 * g;
      expected_v[i] = step.beta2 * v[i] + step.gain2 * g * g;
      expected_x[i] =
          step.shrink * x[i] - step.rate * expected_m[i] / (std::sqrt(expected_v[i]) * step.root_scale + step.epsilon);
    }

    std::vector<T> first_x;
    with_threads([&] {
      std::vector<T> got_x = x, got_m = m, got_v = v;
      adam<T>(n, got_x.data(), gradient.data(), got_m.data(), got_v.data(), step);
      check_close(got_m, expected_m);
      check_close(got_v, expected_v);
      check_close(got_x, expected_x);
      if (first_x.empty()) first_x = got_x;
      CHECK(same_bits(got_x, first_x));
    });
  }
}

TEMPLATE_TEST_CASE("updates: no gradient is a gradient of zeros, bit for bit", "", float, double) {
  using T = TestType;
  const AdamStep<T> step{T(0.1), T(0.9), T(0.1), T(0.99), T(0.01), T(3), T(0.01), T(0.2), T(0.95)};
  for (int64_t n : sizes(lanes<T>)) {
    INFO(n << " numbers");
    const std::vector<T> zeros(static_cast<std::size_t>(n), T(0));
    auto updated = [&](const T* gradient) {
      std::vector<T> x = random_values<T>(n, 1), m = random_values<T>(n, 3), v = random_values<T>(n, 4);
      for (T& value : v) value = std::abs(value);
      adam<T>(n, x.data(), gradient, m.data(), v.data(), step);
      sgd<T>(n, x.data(), gradient, m.data(), T(0.1), T(0.9), T(0.01));
      sgd<T>(n, x.data(), gradient, nullptr, T(0.1), T(0), T(0.01));
      return std::tuple(x, m, v);
    };
    const auto [x, m, v] = updated(nullptr);
    const auto [expected_x, expected_m, expected_v] = updated(zeros.data());
    CHECK(same_bits(x, expected_x));
    CHECK(same_bits(m, expected_m));
    CHECK(same_bits(v, expected_v));
  }
}

TEMPLATE_TEST_CASE("updates: scale multiplies each number once", "", float, double) {
  using T = TestType;
  for (int64_t n : sizes(lanes<T>)) {
    INFO(n << " numbers");
    const std::vector<T> x = random_values<T>(n, 1);
    std::vector<T> expected = x;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) expected[i] = x[i] * T(0.3);
    with_threads([&] {
      std::vector<T> got = x;
      scale<T>(n, got.data(), T(0.3));
      CHECK(same_bits(got, expected));
    });
  }
}

TEMPLATE_TEST_CASE("updates: sum_of_squares agrees with its naive twin", "", float, double) {
  using T = TestType;
  // The sum has 16 chains and pieces of 16384.
  for (int64_t n : {0, 1, 15, 16, 17, 16383, 16384, 16385, 70000}) {
    INFO(n << " numbers");
    const std::vector<T> x = random_values<T>(n, 1);
    long double expected = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) expected += static_cast<long double>(x[i]) * x[i];
    std::vector<double> got;
    with_threads([&] { got.push_back(sum_of_squares<T>(n, x.data())); });
    CHECK(got[0] == Approx(static_cast<double>(expected)).epsilon(1e-13));
    CHECK(got[1] == got[0]);
    CHECK(got[2] == got[0]);
  }
}

TEST_CASE("updates: squares of f32 neither overflow nor vanish") {
  const std::vector<float> x{3e30f, 4e30f}, tiny{3e-30f, 4e-30f};
  CHECK(sum_of_squares<float>(2, x.data()) == Approx(25e60));
  CHECK(sum_of_squares<float>(2, tiny.data()) == Approx(25e-60));
}
