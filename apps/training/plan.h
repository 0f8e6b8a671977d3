#pragma once
// How a run is divided into steps, epochs and intervals from one score to the next.

#include <cstdint>
#include <optional>
#include <string>

#include "apps/training/training_options.h"

namespace reel::apps {

/// How long a run is, and how it is divided. One of no steps is of a model that takes none: it counts.
struct Plan : RunLength {
  std::int64_t test_every;                          // steps from one score and checkpoint to the next
  std::string option;                               // that says how long: num-batches
  std::optional<std::int64_t> batches_per_epoch{};  // of which an epoch's last step takes what is left

  /// Batches in the step after `done` steps: `most`, or what is left of the epoch.
  std::int64_t batches_of_step(std::int64_t done, std::int64_t most) const;
};

// Both throw UsageError for a schedule that does not fit.

/// So many steps, with a score after every test_every of them.
Plan plan_steps(const TrainingConfig& config, std::int64_t steps, std::int64_t test_every);

/// `epochs` times through so many examples, with a score after each time.
Plan plan_epochs(const TrainingConfig& config, std::int64_t epochs, std::int64_t examples);

}  // namespace reel::apps
