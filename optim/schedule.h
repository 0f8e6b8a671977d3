#pragma once
// Learning-rate schedules: from the number of a step, counted from 0, to its learning rate.
//
//     Schedule schedule = warmup(100, cosine(1e-3, 1e-4, 1900));
//     optimizer.set_learning_rate(schedule(step));
//
// All throw if a number of steps is below 0, or if decay_steps is more than steps.

#include <cstdint>
#include <functional>

namespace reel::optim {

/// Any function will do: [](std::int64_t step) { return step < 1000 ? 1e-3 : 1e-4; }
using Schedule = std::function<double(std::int64_t step)>;

Schedule constant(double rate);

/// Half a cosine from `rate` at step 0 down to `min_rate` at step `steps`, and from there on. Loshchilov, Hutter:
/// "SGDR" (2016).
Schedule cosine(double rate, double min_rate, std::int64_t steps);

/// `rate`, and in the last `decay_steps` of `steps` straight down to `min_rate`, where it stays. Hu et al.: "MiniCPM"
/// (2024), whose name for it is WSD: warm-up, stable, decay.
Schedule stable_then_decay(double rate, double min_rate, std::int64_t steps, std::int64_t decay_steps);

/// rate √(w / (w + step)) with w = warmup_steps + 1: from `rate` at step 0 down with the root of the step. After a
/// warm-up of so many steps this is the schedule of Vaswani et al. (2017), which counts steps from 1 and calls w its
/// warm-up.
Schedule inverse_sqrt(double rate, std::int64_t warmup_steps);

/// For `steps` steps linearly up to the first rate of `then`, whose steps count from there. Step 0 moves already.
Schedule warmup(std::int64_t steps, Schedule then);

}  // namespace reel::optim
