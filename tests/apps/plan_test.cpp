#include "apps/training/plan.h"

#include "apps/common/options.h"
#include "tests/catch.h"

using namespace reel::apps;

TEST_CASE("an epoch is as many steps as its batches take", "[plan]") {
  const Plan plan = plan_epochs({.batch_size = 4, .accumulate = 1}, 3, 26);  // 7 batches
  CHECK(plan.steps == 21);
  CHECK(plan.test_every == 7);
  CHECK(plan_epochs({.batch_size = 4, .accumulate = 2}, 3, 26).steps == 12);
  CHECK(plan_epochs({.batch_size = 4, .accumulate = 8}, 3, 26).steps == 3);
  for (const std::int64_t accumulate : {1, 2, 3, 7, 8, 64}) {  // whatever is left at the end of an epoch
    const Plan accumulating = plan_epochs({.batch_size = 4, .accumulate = accumulate}, 3, 26);
    std::int64_t batches = 0;
    for (std::int64_t step = 0; step < accumulating.steps; ++step) {
      const std::int64_t of_step = accumulating.batches_of_step(step, accumulate);
      CHECK(of_step > 0);
      CHECK(of_step <= accumulate);
      batches += of_step;
      if ((step + 1) % accumulating.test_every == 0) CHECK(batches % 7 == 0);
    }
    CHECK(batches == 3 * 7);
  }
}

TEST_CASE("a step has no more examples than an epoch", "[plan]") {
  CHECK(plan_epochs({.batch_size = 4, .accumulate = 2}, 3, 26).examples_per_step == 8);
  CHECK(plan_epochs({.batch_size = 4, .accumulate = 100}, 3, 26).examples_per_step == 26);
  CHECK(plan_epochs({.batch_size = 1000}, 3, 26).examples_per_step == 26);
}

TEST_CASE("a plan has room for the schedule", "[plan]") {
  const TrainingConfig config{.batch_size = 4, .schedule = "cosine", .lr_warmup = 40};  // of 10 steps
  CHECK(plan_steps(config, 11, 5).steps == 11);
  CHECK_THROWS_AS(plan_steps(config, 10, 5), UsageError);
  CHECK(plan_epochs(config, 2, 24).steps == 12);
  CHECK_THROWS_AS(plan_epochs(config, 2, 20), UsageError);
  CHECK(plan_steps(config, 0, 5).steps == 0);  // it counts
}
