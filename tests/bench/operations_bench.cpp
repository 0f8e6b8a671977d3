// Times single operations on matrices of ROWS x COLUMNS numbers: forward, and in a step, which adds a weighted sum of
// the result and the backward pass. operations_bench.py is its twin in PyTorch; compare_operations runs both.
//
//     operations_bench THREADS ROWS COLUMNS
//
// Prints "softmax 25.8 57.7" for each: microseconds of both, the least of several runs.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "autograd/creation.h"
#include "autograd/kernels/parallel.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "tests/bench/ceilings.h"

using namespace reel;

namespace {

using Xs = std::vector<Tensor>;

struct Operation {
  const char* name;
  Xs inputs;
  std::function<Tensor(const Xs&)> run;
};

Ids random_ids(const Shape& shape, int64_t below) {
  Ids ids = Ids::zeros(shape);
  for (std::int32_t& id : ids.values()) id = static_cast<std::int32_t>(default_generator().below(below));
  return ids;
}

std::vector<Operation> operations(int64_t R, int64_t C) {
  const Tensor x = randn({R, C}), y = randn({R, C}), positive = x * x + 0.1;
  const Tensor row = randn({C}), column = randn({R, 1}), weight = randn({C, C});
  const Ids mask = random_ids({R, C}, 2), labels = random_ids({R}, C), words = random_ids({R}, 5000);
  return {
      {"exp", {x}, [](const Xs& v) { return exp(v[0]); }},
      {"log", {positive}, [](const Xs& v) { return log(v[0]); }},
      {"sqrt", {positive}, [](const Xs& v) { return sqrt(v[0]); }},
      {"abs", {x}, [](const Xs& v) { return abs(v[0]); }},
      {"sin", {x}, [](const Xs& v) { return sin(v[0]); }},
      {"tanh", {x}, [](const Xs& v) { return tanh(v[0]); }},
      {"sigmoid", {x}, [](const Xs& v) { return sigmoid(v[0]); }},
      {"erf", {x}, [](const Xs& v) { return erf(v[0]); }},
      {"relu", {x}, [](const Xs& v) { return relu(v[0]); }},
      {"gelu", {x}, [](const Xs& v) { return gelu(v[0]); }},
      {"gelu_tanh", {x}, [](const Xs& v) { return gelu_tanh(v[0]); }},
      {"silu", {x}, [](const Xs& v) { return silu(v[0]); }},
      {"add", {x, y}, [](const Xs& v) { return v[0] + v[1]; }},
      {"add_row", {x, row}, [](const Xs& v) { return v[0] + v[1]; }},
      {"add_transposed", {randn({C, R}), y}, [](const Xs& v) { return v[0].transpose(0, 1) + v[1]; }},
      {"add_heads",
       {randn({R / 32, 8, 32, C / 8}), randn({R / 32, 32, 8, C / 8})},
       [](const Xs& v) { return v[0].transpose(1, 2) + v[1]; }},
      {"mul", {x, y}, [](const Xs& v) { return v[0] * v[1]; }},
      {"mul_column", {x, column}, [](const Xs& v) { return v[0] * v[1]; }},
      {"mul_number", {x}, [](const Xs& v) { return v[0] * 2.5; }},
      {"div", {x, positive}, [](const Xs& v) { return v[0] / v[1]; }},
      {"pow_3", {x}, [](const Xs& v) { return pow(v[0], 3); }},
      {"pow", {positive, x}, [](const Xs& v) { return pow(v[0], v[1]); }},
      {"maximum", {x, y}, [](const Xs& v) { return maximum(v[0], v[1]); }},
      {"where", {x, y}, [mask](const Xs& v) { return where(mask, v[0], v[1]); }},
      {"masked_fill", {x}, [mask](const Xs& v) { return masked_fill(v[0], mask, -1); }},
      {"tril", {x}, [](const Xs& v) { return tril(v[0]); }},
      {"sum", {x}, [](const Xs& v) { return sum(v[0]); }},
      {"sum_0", {x}, [](const Xs& v) { return sum(v[0], {0}); }},
      {"sum_1", {x}, [](const Xs& v) { return sum(v[0], {1}); }},
      {"var_1", {x}, [](const Xs& v) { return var(v[0], {1}); }},
      {"max_0", {x}, [](const Xs& v) { return max(v[0], 0).values; }},
      {"max_1", {x}, [](const Xs& v) { return max(v[0], 1).values; }},
      {"softmax_0", {x}, [](const Xs& v) { return softmax(v[0], 0); }},
      {"softmax", {x}, [](const Xs& v) { return softmax(v[0], 1); }},
      {"log_softmax", {x}, [](const Xs& v) { return log_softmax(v[0], 1); }},
      {"cross_entropy", {x}, [labels](const Xs& v) { return cross_entropy(v[0], labels); }},
      {"layer_norm", {x, row, row * 2.0}, [](const Xs& v) { return layer_norm(v[0], v[1], v[2]); }},
      {"dropout", {x}, [](const Xs& v) { return dropout(v[0], 0.1); }},
      {"transpose", {x}, [](const Xs& v) { return contiguous(v[0].transpose(0, 1)); }},
      {"slice", {x}, [C](const Xs& v) { return contiguous(v[0].slice(1, 0, C, 2)); }},
      {"cat_0", {x, y}, [](const Xs& v) { return cat(v, 0); }},
      {"cat_1", {x, y}, [](const Xs& v) { return cat(v, 1); }},
      {"gather", {x}, [labels](const Xs& v) { return gather(v[0], 1, labels.unsqueeze(1)); }},
      {"embedding", {randn({5000, C})}, [words](const Xs& v) { return embedding(v[0], words); }},
      {"linear", {x, weight, row}, [](const Xs& v) { return linear(v[0], v[1], v[2]); }},
      {"linear_relu", {x, weight, row}, [](const Xs& v) { return linear_relu(v[0], v[1], v[2]); }},
      {"linear_1_row", {randn({1, C}), weight, row}, [](const Xs& v) { return linear(v[0], v[1], v[2]); }},
      {"conv1d",
       {randn({R / 32, C, 32}), randn({C, C, 3}), row},
       [](const Xs& v) { return conv1d(v[0], v[1], v[2], {.padding = 1}); }},
  };
}

void print_times(const Operation& operation) {
  const double forward = bench::best_seconds([&] { operation.run(operation.inputs); });
  Xs leaves;
  for (const Tensor& x : operation.inputs) leaves.push_back(clone(x).set_requires_grad());
  const Tensor weights = randn(operation.run(leaves).shape());
  const double step = bench::best_seconds([&] {
    Tape tape;
    const Tensor loss = sum(operation.run(leaves) * weights);  // what is in between may go before the backward pass
    tape.backward(loss);
    for (Tensor& x : leaves) x.zero_grad();
  });
  std::printf("%s %.3f %.3f\n", operation.name, 1e6 * forward, 1e6 * step);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: operations_bench THREADS ROWS COLUMNS\n");
    return 2;
  }
  kernels::set_threads(std::atoi(argv[1]));
  for (const Operation& operation : operations(std::atoll(argv[2]), std::atoll(argv[3]))) print_times(operation);
}
