#pragma once
// What the tests of all models share: what has to hold while a model trains, whatever it computes.

#include <functional>
#include <memory>
#include <vector>

#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tests/nn/parameters.h"
#include "tests/threads.h"

namespace reel::tests {

/// A model's output or its loss.
using Compute = std::function<Tensor()>;

inline double train_step(const nn::Module& model, optim::Optimizer& optimizer, const Compute& loss) {
  Tape tape;
  const Tensor value = loss();
  tape.backward(value);
  optim::clip_grad_norm(model.parameters(), 1);
  optimizer.step();
  optimizer.zero_grad();
  return value.item();
}

/// Adam's loss when it is at most `goal`, or after `steps`.
inline double learn(const nn::Module& model, const Compute& loss, int steps, double goal = 0.05) {
  optim::Adam optimizer(model.parameters(), {.learning_rate = 1e-2});
  double last = infinity;
  for (int step = 0; step < steps && last > goal; ++step) last = train_step(model, optimizer, loss);
  return last;
}

inline void check_every_parameter_gets_a_gradient(const nn::Module& model, const Compute& loss) {
  model.zero_grad();
  {
    Tape tape;
    tape.backward(loss());
  }
  for (const auto& [name, parameter] : model.state_dict()) {
    if (!parameter.requires_grad()) continue;
    INFO(name);
    REQUIRE(parameter.grad().defined());
    CHECK(all_finite(parameter.grad()));
    CHECK(sum(abs(parameter.grad())).item() > 0);
  }
}

inline void check_drops_in_training_only(nn::Module& model, const Compute& output) {
  CHECK_FALSE(same_bits(output(), output()));
  model.eval();
  const Tensor y = output();
  CHECK(same_bits(output(), y));
  model.train();
  CHECK_FALSE(same_bits(output(), y));
}

inline void check_memory_does_not_grow(const nn::Module& model, const Compute& loss) {
  optim::Adam optimizer(model.parameters());
  for (int step = 0; step < 2; ++step) train_step(model, optimizer, loss);
  const MemoryStats before = memory_stats();
  for (int step = 0; step < 20; ++step) train_step(model, optimizer, loss);
  const MemoryStats after = memory_stats();
  CHECK(after.current == before.current);
  CHECK(after.reserved == before.reserved);
  CHECK(after.system_allocations == before.system_allocations);
}

/// Five steps of the model that make() returns, from the same seed on one, two and three threads.
template <class Make, class LossOf>
void check_same_bits_on_any_number_of_threads(const Make& make, const LossOf& loss_of) {
  std::vector<NamedTensors> states;
  std::vector<Values> losses;
  for (int threads = 1; threads <= 3; ++threads) {
    const WithThreads with(threads);
    manual_seed(2);
    const auto model = make();
    optim::AdamW optimizer({{model->parameters(), 0.1}});
    losses.emplace_back();
    for (int step = 0; step < 5; ++step) {
      losses.back().push_back(train_step(*model, optimizer, [&] { return loss_of(*model); }));
    }
    states.push_back(snapshot(model->state_dict()));
    CHECK(losses.back() == losses.front());
    CHECK(same_bits(states.back(), states.front()));
  }
  CHECK(losses[0][4] < losses[0][0]);
}

}  // namespace reel::tests
