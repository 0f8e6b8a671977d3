#include "optim/optimizer.h"

#include <cmath>
#include <functional>
#include <memory>

#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::tests;

namespace {

/// Sets the gradient and makes one step.
void step(Optimizer& optimizer, Tensor parameter, const Values& gradient) {
  parameter.set_grad(tensor(parameter.shape(), gradient, parameter.dtype()));
  optimizer.step();
}

void check_close(const Tensor& x, const Values& expected) {
  const Values got = x.to_vector();
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-12));
}

NamedTensors snapshot(const Optimizer& optimizer) {
  NamedTensors copies;
  for (const auto& [name, value] : optimizer.state()) copies.emplace_back(name, clone(value));
  return copies;
}

Tensor random(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return randn(shape, DType::f32, generator);
}

using Make = std::function<std::unique_ptr<Optimizer>(const std::vector<ParameterGroup>&)>;

/// Every kind that keeps something between steps.
const std::vector<std::pair<const char*, Make>> kinds{
    {"SGD",
     [](const auto& groups) {
       return std::make_unique<SGD>(groups, SGD::Options{0.1, 0.9});
     }},
    {"Adam", [](const auto& groups) { return std::make_unique<Adam>(groups); }},
    {"AdamW", [](const auto& groups) { return std::make_unique<AdamW>(groups); }},
};

}  // namespace

TEST_CASE("optimizer: plain SGD moves against the gradient") {
  Tensor x = f64({2}, {3, 2});
  SGD sgd({{{x}}}, {.learn_rate = 0.1});
  step(sgd, x, {10, -20});
  check_close(x, {2, 4});
  CHECK(sgd.state().size() == 1);  // only the count of steps
}

TEST_CASE("optimizer: SGD with momentum and decay, by hand") {
  Tensor x = f64({1}, {1});
  SGD sgd({{{x}, 0.5}}, {.learn_rate = 0.1, .momentum = 0.9});
  step(sgd, x, {2});  // g = 2 + 0.5, v = 2.5
  check_close(x, {0.75});
  step(sgd, x, {1});  // g = 1 + 0.375, v = 2.25 + 1.375
  check_close(x, {0.75 - 0.3625});
}

TEST_CASE("optimizer: Adam, two steps by hand") {
  Tensor x = f64({1}, {1});
  Adam adam({{{x}}}, {.learn_rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8});
  step(adam, x, {2});  // m / (1 - 0.9) = 2, v / (1 - 0.99) = 4
  const double first = 1 - 0.1 * 2 / (2 + 1e-8);
  check_close(x, {first});
  step(adam, x, {-1});
  const double m = (0.9 * 0.2 - 0.1) / (1 - 0.81), v = (0.99 * 0.04 + 0.01) / (1 - 0.9801);
  check_close(x, {first - 0.1 * m / (std::sqrt(v) + 1e-8)});
}

TEST_CASE("optimizer: Adam adds decay to the gradient, AdamW shrinks the parameter") {
  Tensor x = f64({1}, {4}), y = f64({1}, {4});
  Adam adam({{{x}, 0.5}}, {.learn_rate = 0.1});
  step(adam, x, {-2});  // the gradient becomes 0
  check_close(x, {4});
  AdamW adamw({{{y}, 0.5}}, {.learn_rate = 0.1});
  step(adamw, y, {-2});
  check_close(y, {4 * (1 - 0.1 * 0.5) + 0.1 * 2 / (2 + 1e-8)});
}

TEST_CASE("optimizer: each group has its own decay") {
  Tensor x = f64({1}, {1}), y = f64({1}, {1});
  SGD sgd({{{x}, 0.5}, {{y}, 0}}, {.learn_rate = 1});
  x.set_grad(f64({1}, {0}));
  y.set_grad(f64({1}, {0}));
  sgd.step();
  check_close(x, {0.5});
  check_close(y, {1});
}

TEST_CASE("optimizer: decay_matrices_only spares vectors") {
  const Tensor matrix = zeros({2, 2}), vector = zeros({2}), cube = zeros({1, 2, 3}), number = zeros({});
  const auto groups = decay_matrices_only({vector, matrix, number, cube}, 0.1);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].weight_decay == 0.1);
  REQUIRE(groups[0].parameters.size() == 2);
  CHECK(groups[0].parameters[0].same(matrix));
  CHECK(groups[0].parameters[1].same(cube));
  CHECK(groups[1].weight_decay == 0);
  REQUIRE(groups[1].parameters.size() == 2);
  CHECK(groups[1].parameters[0].same(vector));
  CHECK(groups[1].parameters[1].same(number));
}

TEST_CASE("optimizer: a parameter without a gradient is left alone") {
  for (const auto& [name, make] : kinds) {
    INFO(name);
    Tensor x = f64({1}, {1}), y = f64({1}, {1});
    const auto optimizer = make({{{x, y}, 0.5}});
    step(*optimizer, y, {1});
    CHECK(x.to_vector() == Values{1});
    CHECK(y.to_vector() != Values{1});
    CHECK(optimizer->state()[0].first == "0.step");
    CHECK(optimizer->state()[0].second.item() == 0);
  }
}

TEST_CASE("optimizer: zero_grad drops gradients, the learning rate can change") {
  Tensor x = f64({1}, {1});
  SGD sgd({{{x}}}, {.learn_rate = 0.1});
  CHECK(sgd.learn_rate() == 0.1);
  sgd.set_learn_rate(0.5);
  step(sgd, x, {1});
  check_close(x, {0.5});
  sgd.zero_grad();
  CHECK_FALSE(x.grad().defined());
  sgd.step();
  check_close(x, {0.5});
}

TEST_CASE("optimizer: goes on from its state bit for bit") {
  for (const auto& [name, make] : kinds) {
    INFO(name);
    const std::vector<Tensor> parameters{random({5, 7}, 1), random({7}, 2)};
    auto take_steps = [](Optimizer& optimizer, const std::vector<Tensor>& xs, std::uint64_t seed) {
      for (std::uint64_t n = 0; n < 3; ++n) {
        for (Tensor x : xs) x.set_grad(random(x.shape(), seed + n));
        optimizer.step();
      }
    };
    const auto optimizer = make({{parameters, 0.1}});
    take_steps(*optimizer, parameters, 10);

    const std::vector<Tensor> others{clone(parameters[0]), clone(parameters[1])};
    const auto resumed = make({{others, 0.1}});
    resumed->load_state(snapshot(*optimizer));
    take_steps(*optimizer, parameters, 20);
    take_steps(*resumed, others, 20);
    for (std::size_t i = 0; i < 2; ++i) CHECK(same_bits(parameters[i], others[i]));
  }
}

TEST_CASE("optimizer: a state of something else throws and changes nothing") {
  const std::vector<Tensor> parameters{zeros({2, 3}), zeros({3})};
  Adam adam({{parameters}});
  const NamedTensors good = snapshot(adam);
  REQUIRE(good.size() == 6);
  auto refused = [&](NamedTensors state, const std::string& reason) {
    for (auto& [name, value] : state) value = full(value.shape(), 7, value.dtype());
    CHECK_THROWS_WITH(adam.load_state(state), ContainsSubstring(reason));
    for (const auto& [name, value] : adam.state())
      CHECK(value.to_vector() == Values(static_cast<std::size_t>(value.numel()), 0));
  };
  NamedTensors state = good;
  state.pop_back();
  refused(state, "has 5 tensors, this one has 6");
  state = good;
  state.back().second = zeros({4});
  refused(state, "1.exp_avg_sq");
  state = good;
  state[1].first = "0.momentum_buffer";
  refused(state, "0.momentum_buffer");
  refused(snapshot(SGD({{parameters}}, {.momentum = 0.9})), "another optimizer");
}

TEST_CASE("optimizer: refuses options and parameters that make no sense") {
  const Tensor x = zeros({2, 3});
  CHECK_THROWS_WITH(SGD({{{x}}}, {.momentum = 1}), ContainsSubstring("momentum is 1"));
  CHECK_THROWS_WITH(Adam({{{x}}}, {.beta1 = -0.1}), ContainsSubstring("beta1 is -0.1"));
  CHECK_THROWS_WITH(AdamW({{{x}}}, {.beta2 = 1}), ContainsSubstring("beta2 is 1"));
  CHECK_THROWS_WITH(Adam({{{x.transpose(0, 1)}}}), ContainsSubstring("not contiguous"));
}
