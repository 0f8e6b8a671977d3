#include "autograd/kernels/vector_functions.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iomanip>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.h"
#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

namespace {

template <class T>
using Function = std::function<Vec<T>(const Vec<T>&)>;

/// Compares with the C library in long double, at magnitudes spread evenly on a logarithmic scale and at the values
/// where functions go wrong. `limit` is in units of the last place.
template <class T>
void check_function(const Function<T>& function, long double (*reference)(long double), long double low,
                    long double high, double limit) {
  std::vector<T> inputs = {0, -T(0), 1, -1, T(0.5), T(-0.5)};
  for (T value : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()}) {
    inputs.insert(inputs.end(), {value, -value});
  }
  inputs.push_back(std::numeric_limits<T>::quiet_NaN());
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(static_cast<double>(std::log(low)),
                                                  static_cast<double>(std::log(high)));
  for (int i = 0; i < 20000; ++i) {
    T magnitude = static_cast<T>(std::exp(exponent(random)));
    inputs.insert(inputs.end(), {magnitude, -magnitude});
  }

  double worst = 0;
  T worst_at = 0;
  for (T x : inputs) {
    T y = to_array<T>(function(splat(x)))[0];
    double error = ulps(y, reference(x));
    if (error > worst) {
      worst = error;
      worst_at = x;
    }
    if (x == 0 && y == 0) CHECK(std::signbit(y) == std::signbit(reference(x)));
  }
  INFO("worst at " << worst_at);
  CHECK(worst <= limit);
}

}  // namespace

TEMPLATE_TEST_CASE("functions agree with the C library", "[vector_functions]", float, double) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  long double overflow = std::log(static_cast<long double>(Limits::max()));
  const double exp_limit = sizeof(T) == 4 ? 2 : 3;
  check_function<T>([](const Vec<T>& x) { return exp(x); }, std::exp, 1e-8l, 2 * overflow, exp_limit);
  check_function<T>([](const Vec<T>& x) { return exp(x); }, std::exp, 0.99l * overflow, 1.01l * overflow, exp_limit);
  check_function<T>([](const Vec<T>& x) { return log(x); }, std::log, Limits::min(), Limits::max(), 2);
  check_function<T>([](const Vec<T>& x) { return log(x); }, std::log, 0.5l, 2.0l, 2);
  check_function<T>([](const Vec<T>& x) { return sin(x); }, std::sin, 1e-8l, 1e9l, 4);
  check_function<T>([](const Vec<T>& x) { return cos(x); }, std::cos, 1e-8l, 1e9l, 4);
  check_function<T>([](const Vec<T>& x) { return tanh(x); }, std::tanh, 1e-8l, 100.0l, sizeof(T) == 4 ? 7 : 3);
  check_function<T>([](const Vec<T>& x) { return erf(x); }, std::erf, 1e-8l, 100.0l, sizeof(T) == 4 ? 7 : 90);
  check_function<T>([](const Vec<T>& x) { return sqrt(x); }, std::sqrt, Limits::min(), Limits::max(), 0.5);
}

TEST_CASE("exp is right to the smallest number that is not denormal, and to the largest", "[vector_functions]") {
  for (const float from : {-87.3366f, 87.9999f, 88.7227f}) {
    float x = from;
    for (int i = 0; i < 60; ++i, x = std::nextafter(x, 100.0f)) {
      INFO("x is " << std::setprecision(9) << x);
      CHECK(ulps(to_array<float>(exp(splat(x)))[0], std::exp(static_cast<long double>(x))) <= 2);
    }
  }
}

TEMPLATE_TEST_CASE("exp of a lane is the same whatever its neighbours are", "[vector_functions]", float, double) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  const T overflow = std::log(Limits::max());
  for (T x : {T(-1), T(0), T(2.5), overflow - T(0.1), overflow + 1, -Limits::infinity(), Limits::infinity()}) {
    const T alone = to_array<T>(exp(splat(x)))[0];
    for (T neighbour : {-Limits::infinity(), Limits::infinity(), Limits::quiet_NaN(), overflow - T(0.2), -overflow}) {
      INFO("exp(" << x << ") beside exp(" << neighbour << ")");
      CHECK(to_array<T>(exp(load_n(&x, 1, neighbour)))[0] == alone);
    }
  }
}

TEST_CASE("exp of a NaN is NaN, whatever else its bits say", "[vector_functions]") {
  for (std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fc00001u, 0x7fc001ffu, 0x7fffffffu, 0xffffffffu}) {
    INFO(std::hex << bits);
    CHECK(std::isnan(to_array<float>(exp(splat(std::bit_cast<float>(bits))))[0]));
  }
}
