#include "apps/training/plan.h"

#include <algorithm>

namespace reel::apps {
namespace {

Plan checked(const TrainingConfig& config, Plan plan) {
  if (plan.steps > 0) check_schedule(config, plan);
  return plan;
}

}  // namespace

Plan plan_steps(const TrainingConfig& config, std::int64_t steps, std::int64_t test_every) {
  return checked(config, {{steps, config.batch_size * config.accumulate}, test_every, "num-batches"});
}

Plan plan_epochs(const TrainingConfig& config, std::int64_t epochs, std::int64_t examples) {
  const std::int64_t batches = (examples + config.batch_size - 1) / config.batch_size;
  const std::int64_t steps = (batches + config.accumulate - 1) / config.accumulate;
  return checked(
      config,
      {{epochs * steps, std::min(config.batch_size * config.accumulate, examples)}, steps, "num-epochs", batches});
}

std::int64_t Plan::batches_of_step(std::int64_t done, std::int64_t most) const {
  if (!batches_per_epoch) return most;
  const std::int64_t steps_per_epoch = (*batches_per_epoch + most - 1) / most;
  return std::min(most, *batches_per_epoch - done % steps_per_epoch * most);
}

}  // namespace reel::apps
