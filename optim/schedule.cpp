#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "autograd/error.h"

namespace reel::optim {
namespace {

/// How much of `steps` is done after `step` of them: 0 to 1.
double share(std::int64_t step, std::int64_t steps) {
  return steps > 0 ? std::min(1.0, static_cast<double>(step) / static_cast<double>(steps)) : 1;
}

void check_steps(const char* schedule, std::int64_t steps) {
  if (steps < 0) fail(schedule, ": ", steps, " steps; need at least 0");
}

}  // namespace

Schedule constant(double rate) {
  return [rate](std::int64_t) { return rate; };
}

Schedule cosine(double rate, double min_rate, std::int64_t steps) {
  check_steps("cosine", steps);
  return [rate, min_rate, steps](std::int64_t step) {
    return min_rate + (rate - min_rate) * (1 + std::cos(std::numbers::pi * share(step, steps))) / 2;
  };
}

Schedule stable_then_decay(double rate, double min_rate, std::int64_t steps, std::int64_t decay_steps) {
  if (decay_steps < 0 || decay_steps > steps) {
    fail("stable_then_decay: ", decay_steps, " of ", steps, " steps decay; need 0 <= decay steps <= steps");
  }
  return [rate, min_rate, steps, decay_steps](std::int64_t step) {
    const std::int64_t decayed = step - (steps - decay_steps);
    return decayed < 0 ? rate : min_rate + (rate - min_rate) * (1 - share(decayed, decay_steps));
  };
}

Schedule inverse_sqrt(double rate, std::int64_t warmup_steps) {
  check_steps("inverse_sqrt", warmup_steps);
  const double w = static_cast<double>(warmup_steps) + 1;
  return [rate, w](std::int64_t step) { return rate * std::sqrt(w / (w + static_cast<double>(step))); };
}

Schedule warmup(std::int64_t steps, Schedule then) {
  check_steps("warmup", steps);
  return [steps, then = std::move(then)](std::int64_t step) {
    if (step >= steps) return then(step - steps);
    return then(0) * (static_cast<double>(step) + 1) / (static_cast<double>(steps) + 1);
  };
}

}  // namespace reel::optim
