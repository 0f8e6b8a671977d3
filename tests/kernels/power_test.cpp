#include "autograd/kernels/power.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "autograd/kernels/machine.h"
#include "tests/catch.h"
#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

TEMPLATE_TEST_CASE("powers agree with the C library wherever they are finite", "[power]", float, double) {
  using T = TestType;
  const auto overflow = std::log(static_cast<double>(std::numeric_limits<T>::max()));
  std::mt19937 random(1);
  std::uniform_real_distribution<double> from_minus_1_to_1(-1, 1);
  double worst = 0;
  T worst_base = 0, worst_exponent = 0;
  for (const double largest_log : {0.01, 0.3, 1.0, 10.0, overflow}) {
    for (int i = 0; i < 20000; ++i) {
      const T base = static_cast<T>(std::exp(largest_log * from_minus_1_to_1(random)));
      const T exponent = static_cast<T>(overflow / largest_log * from_minus_1_to_1(random));
      const double error = ulps(to_array<T>(pow(splat(base), splat(exponent)))[0],
                                std::pow(static_cast<long double>(base), static_cast<long double>(exponent)));
      if (error > worst) {
        worst = error;
        worst_base = base;
        worst_exponent = exponent;
      }
    }
  }
  INFO("worst at " << worst_base << " to the power of " << worst_exponent);
  CHECK(worst <= 2);
}

TEMPLATE_TEST_CASE("powers of integers are exact", "[power]", float, double) {
  using T = TestType;
  const T last = T(int64_t{1} << std::numeric_limits<T>::digits);  // up to here, all integers are numbers
  for (int base = 2; base < 200; ++base) {
    T power = 1;
    for (int exponent = 0; power <= last; ++exponent, power *= T(base)) {
      CHECK(to_array<T>(pow(splat(T(base)), splat(T(exponent))))[0] == power);
    }
  }
}

TEMPLATE_TEST_CASE("powers at the limits, beside ordinary ones", "[power]", float, double) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  const std::vector<T> values = {0,
                                 -T(0),
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 3,
                                 -3,
                                 1e30f,
                                 1e-30f,
                                 Limits::max(),
                                 Limits::min(),
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::quiet_NaN()};
  for (const T base : values) {
    for (const T exponent : values) {
      std::vector<T> bases(static_cast<std::size_t>(lanes<T>), T(2)), exponents(bases.size(), T(3));
      bases[1] = base;
      exponents[1] = exponent;
      const Array<T> powers = to_array<T>(pow(load(bases.data()), load(exponents.data())));
      INFO(base << " to the power of " << exponent);
      CHECK(powers[0] == 8);
      CHECK(ulps(powers[1], std::pow(static_cast<long double>(base), static_cast<long double>(exponent))) <= 2);
    }
  }
}

TEMPLATE_TEST_CASE("a power does not depend on what stands beside it", "[power]", float, double) {
  using T = TestType;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0.1, 10);
  for (int i = 0; i < 1000; ++i) {
    const T base = static_cast<T>(uniform(random)), exponent = static_cast<T>(uniform(random));
    std::vector<T> bases(static_cast<std::size_t>(lanes<T>), base);
    bases[1] = 0;  // as behind the last number of a row
    const T alone = to_array<T>(pow(splat(base), splat(exponent)))[0];
    CHECK(to_array<T>(pow(load(bases.data()), splat(exponent)))[0] == alone);
  }
}

TEMPLATE_TEST_CASE("where denormals are flushed, their powers are those of zero", "[power]", float, double) {
  using T = TestType;
  const T denormal = std::numeric_limits<T>::min() / 4;
  std::string wrong;
  std::thread([&] {
    flush_denormals();
    for (const T exponent : {T(0.1), T(-0.1), T(2), T(-3), T(0)}) {
      for (const T sign : {T(1), T(-1)}) {
        const T expected = std::pow(std::copysign(T(0), sign), exponent);
        const T power = to_array<T>(pow(splat(std::copysign(denormal, sign)), splat(exponent)))[0];
        if (power != expected) wrong += std::to_string(exponent) + " ";
      }
    }
  }).join();
  CHECK(wrong == "");
}
