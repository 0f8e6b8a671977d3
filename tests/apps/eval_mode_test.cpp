#include "apps/training/eval_mode.h"

#include <stdexcept>

#include "nn/layers.h"
#include "tests/catch.h"

using reel::apps::EvalMode;

TEST_CASE("a model is in evaluation for a while, and then as before", "[eval_mode]") {
  reel::nn::Dropout model(0.5);
  for (const bool training : {true, false}) {
    model.train(training);
    {
      const EvalMode mode(model);
      CHECK_FALSE(model.training());
    }
    CHECK(model.training() == training);
  }
  model.train();
  try {
    const EvalMode mode(model);
    throw std::runtime_error("out of memory");
  } catch (const std::runtime_error&) {
    CHECK(model.training());
  }
}
