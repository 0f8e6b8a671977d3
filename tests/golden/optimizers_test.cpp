// Optimizers, clipping and schedules against PyTorch, and against formulas written in Python: five steps of given
// gradients for a matrix and a vector, compared after each.

#include "optim/optimizer.h"

#include <memory>

#include "optim/clip.h"
#include "optim/schedule.h"
#include "tests/golden/golden.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::tests;

namespace {

using Parameters = std::vector<Tensor>;
using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const Parameters&)>;

template <class Kind, class Options>
MakeOptimizer make(double weight_decay, const Options& options) {
  return [=](const Parameters& parameters) {
    return std::make_unique<Kind>(ParameterGroups{{parameters, weight_decay}}, options);
  };
}

const AdamOptions unusual{.learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3};

const std::map<std::string, MakeOptimizer> optimizers = {
    {"sgd", make<SGD>(0, SGDOptions{.learning_rate = 0.1})},
    {"sgd_momentum", make<SGD>(0, SGDOptions{.learning_rate = 0.1, .momentum = 0.9})},
    {"sgd_decay", make<SGD>(0.1, SGDOptions{.learning_rate = 0.1})},
    {"sgd_momentum_decay", make<SGD>(0.1, SGDOptions{.learning_rate = 0.1, .momentum = 0.5})},
    {"adam", make<Adam>(0, AdamOptions{.learning_rate = 0.01})},
    {"adam_options", make<Adam>(0.1, unusual)},
    {"adamw", make<AdamW>(0.1, AdamOptions{.learning_rate = 0.01})},
    {"adamw_options", make<AdamW>(0.3, unusual)},
    {"adamw_matrices",
     [](const Parameters& parameters) {
       return std::make_unique<AdamW>(decay_matrices_only(parameters, 0.1), AdamOptions{.learning_rate = 0.1});
     }},
};

const std::map<std::string, Schedule> schedules = {
    {"constant", constant(1e-3)},
    {"cosine", cosine(1e-3, 1e-4, 20)},
    {"inverse_sqrt", inverse_sqrt(1e-3, 10)},
    {"warmup_cosine", warmup(5, cosine(1e-3, 1e-4, 20))},
    {"warmup_inverse_sqrt", warmup(10, inverse_sqrt(1e-3, 10))},
};

Parameters start(Golden& golden, DType dtype) {
  Parameters parameters;
  for (auto& [i, x] : golden.group("start.", dtype)) parameters.push_back(x.set_requires_grad());
  return parameters;
}

void check_steps(Golden& golden, const std::string& name, const MakeOptimizer& make_optimizer, DType dtype,
                 double tolerance) {
  Parameters parameters = start(golden, dtype);
  const NamedTensors gradients = golden.group("gradients.", dtype);
  const auto optimizer = make_optimizer(parameters);
  std::vector<std::vector<Tensor>> paths(parameters.size());
  for (int step = 0; step < 5; ++step) {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      parameters[i].set_grad(copy_of(gradients[i].second.select(0, step)));
    optimizer->step();
    for (std::size_t i = 0; i < parameters.size(); ++i) paths[i].push_back(copy_of(parameters[i]));
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    golden.check(text(name, ".", i), stack(paths[i], 0), tolerance);
  }
}

/// Of the matrix, other rows each step; optimizers.py has the same.
void check_lazy(Golden& golden, DType dtype, double tolerance) {
  const std::vector<Ids> rows{Ids({0, 2}), Ids({1}), Ids({0, 1, 2}), Ids({2}), Ids({0, 1})};
  const Tensor matrix = start(golden, dtype)[0], gradients = golden.group("gradients.", dtype)[0].second;
  Adam adam({matrix}, {.learning_rate = 0.01, .epsilon = 1e-30, .lazy = true});
  std::vector<Tensor> path;
  for (int step = 0; step < 5; ++step) {
    const Ids& read = rows[static_cast<std::size_t>(step)];
    Tape tape;
    tape.backward(sum(embedding(matrix, read) * embedding(gradients.select(0, step), read)));
    adam.step();
    adam.zero_grad();
    path.push_back(copy_of(matrix));
  }
  golden.check("adam_lazy.0", stack(path, 0), tolerance);
}

void check_clipping(Golden& golden, const std::string& name, double max_norm, DType dtype, double tolerance) {
  Parameters parameters = start(golden, dtype);
  const NamedTensors gradients = golden.group("gradients.", dtype);
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].set_grad(copy_of(gradients[i].second.select(0, 0)));
  golden.check(name + ".norm", scalar(clip_grad_norm(parameters, max_norm), dtype), tolerance);
  for (std::size_t i = 0; i < parameters.size(); ++i) golden.check(text(name, ".", i), parameters[i].grad(), tolerance);
}

void check_all(DType dtype, double tolerance) {
  Golden golden("optimizers.safetensors");
  for (const auto& [name, make_optimizer] : optimizers) check_steps(golden, name, make_optimizer, dtype, tolerance);
  check_lazy(golden, dtype, tolerance);
  check_clipping(golden, "clip", 1, dtype, tolerance);
  check_clipping(golden, "clip_none", 100, dtype, tolerance);
  for (const auto& [name, schedule] : schedules) {
    std::vector<double> rates;
    for (std::int64_t step = 0; step < 30; ++step) rates.push_back(schedule(step));
    golden.check("schedule." + name, tensor({30}, rates, DType::f64), 1e-12);
  }
  golden.check_all_read();
}

}  // namespace

TEST_CASE("golden: optimizers agree with PyTorch in f64") { check_all(DType::f64, 1e-10); }
TEST_CASE("golden: optimizers agree with PyTorch in f32") { check_all(DType::f32, 1e-5); }
