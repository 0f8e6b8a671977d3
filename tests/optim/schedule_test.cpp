#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel::optim;

TEST_CASE("schedule: constant") {
  CHECK(constant(0.3)(0) == 0.3);
  CHECK(constant(0.3)(1'000'000) == 0.3);
}

TEST_CASE("schedule: half a cosine from the first rate to the last, and flat after it") {
  const Schedule schedule = cosine(1e-3, 1e-4, 100);
  CHECK(schedule(0) == Approx(1e-3));
  CHECK(schedule(25) == Approx(1e-4 + 9e-4 * (1 + std::sqrt(0.5)) / 2));
  CHECK(schedule(50) == Approx(5.5e-4));
  CHECK(schedule(100) == Approx(1e-4));
  CHECK(schedule(1000) == Approx(1e-4));
  for (int step = 0; step < 100; ++step) CHECK(schedule(step + 1) < schedule(step));
  CHECK(cosine(1e-3, 1e-4, 0)(0) == Approx(1e-4));
}

TEST_CASE("schedule: the same for long, and at the end straight down") {
  const Schedule schedule = stable_then_decay(1e-3, 1e-4, 100, 40);
  for (int step : {0, 30, 60}) CHECK(schedule(step) == 1e-3);
  CHECK(schedule(70) == Approx(7.75e-4));
  CHECK(schedule(80) == Approx(5.5e-4));
  CHECK(schedule(100) == Approx(1e-4));
  CHECK(schedule(1000) == Approx(1e-4));
  CHECK(stable_then_decay(1e-3, 1e-4, 100, 0)(99) == 1e-3);
  CHECK(stable_then_decay(1e-3, 1e-4, 100, 0)(100) == Approx(1e-4));
}

TEST_CASE("schedule: inverse square root") {
  const Schedule schedule = inverse_sqrt(0.1, 99);
  CHECK(schedule(0) == Approx(0.1));
  CHECK(schedule(100) == Approx(0.1 / std::sqrt(2)));
  CHECK(schedule(300) == Approx(0.05));
  CHECK(schedule(9900) == Approx(0.01));
  CHECK(inverse_sqrt(0.1, 0)(3) == Approx(0.05));
}

TEST_CASE("schedule: warm-up rises evenly and passes into what follows") {
  const Schedule schedule = warmup(4, cosine(1.0, 0.0, 10));
  for (int step = 0; step < 4; ++step) CHECK(schedule(step) == Approx(0.2 * (step + 1)));
  CHECK(schedule(4) == Approx(1));
  CHECK(schedule(9) == Approx(0.5));
  CHECK(schedule(14) == Approx(0).margin(1e-15));
  CHECK(warmup(0, constant(0.3))(0) == 0.3);
}

TEST_CASE("schedule: warm-up and inverse square root make the schedule of the transformer") {
  // Vaswani et al. (2017), equation 3: width^-0.5 min(step^-0.5, step warmup^-1.5), with steps counted from 1.
  const double peak = 1 / std::sqrt(512.0 * 4000);
  const Schedule schedule = warmup(3999, inverse_sqrt(peak, 3999));
  for (double step : {1.0, 1000.0, 4000.0, 4001.0, 100000.0}) {
    const double expected = 1 / std::sqrt(512) * std::min(1 / std::sqrt(step), step * std::pow(4000, -1.5));
    CHECK(schedule(static_cast<std::int64_t>(step) - 1) == Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("schedule: a warm-up of any length rises from nothing") {
  constexpr auto forever = std::numeric_limits<std::int64_t>::max();
  CHECK(warmup(forever, constant(1))(0) == Approx(std::ldexp(1.0, -63)));
  CHECK(warmup(forever, constant(1))(forever - 1) == Approx(1));
}

TEST_CASE("schedule: refuses what is no number of steps") {
  CHECK_THROWS_WITH(cosine(1, 0, -1), ContainsSubstring("cosine: -1 steps; need at least 0"));
  CHECK_THROWS_WITH(warmup(-3, constant(1)), ContainsSubstring("warmup: -3 steps; need at least 0"));
  CHECK_THROWS_WITH(inverse_sqrt(1, -1), ContainsSubstring("inverse_sqrt: -1 steps; need at least 0"));
  CHECK_THROWS_WITH(stable_then_decay(1, 0, 10, 20),
                    ContainsSubstring("stable_then_decay: 20 of 10 steps decay; need 0 <= decay steps <= steps"));
  CHECK_THROWS_AS(stable_then_decay(1, 0, 10, -1), reel::Error);
}

TEST_CASE("schedule: any function will do") {
  const Schedule halved = [](std::int64_t step) { return std::ldexp(1.0, -static_cast<int>(step)); };
  CHECK(warmup(1, halved)(0) == 0.5);
  CHECK(warmup(1, halved)(3) == 0.25);
}
