// One training step of GTransformer as `generate train` takes it: forward, backward, clipping, AdamW. Prints the median
// time in milliseconds. tests/bench/train_step.py is its twin in PyTorch; tests/bench/compare runs both.
//
//     train_step_bench [THREADS [STEPS]]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "autograd/kernels/parallel.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "nn/gtransformer.h"
#include "optim/clip.h"
#include "optim/optimizer.h"

using namespace reel;

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1, steps = argc > 2 ? std::atoi(argv[2]) : 20;
  constexpr int64_t batch = 12, context = 64, vocabulary = 65;
  kernels::set_threads(threads);
  manual_seed(1);

  nn::GTransformer model({.vocabulary = vocabulary, .context = context, .embedding = 128, .heads = 4, .depth = 4});
  optim::AdamW optimizer(optim::decay_matrices_only(model.parameters(), 0.1), {.learn_rate = 1e-3, .beta2 = 0.99});
  Ids inputs = Ids::zeros({batch, context}), targets = Ids::zeros({batch, context});
  for (Ids* ids : {&inputs, &targets}) {
    for (std::int32_t& id : ids->values()) id = static_cast<std::int32_t>(default_generator().below(vocabulary));
  }

  std::vector<double> milliseconds;
  for (int step = 0; step < steps + 3; ++step) {  // the first three warm up
    const auto start = std::chrono::steady_clock::now();
    {
      Tape tape;
      tape.backward(nll_loss(model(inputs), targets));
    }
    optim::clip_grad_norm(model.parameters(), 1);
    optimizer.step();
    optimizer.zero_grad();
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    if (step >= 3) milliseconds.push_back(taken.count());
  }
  std::nth_element(milliseconds.begin(), milliseconds.begin() + steps / 2, milliseconds.end());
  std::printf("%.2f\n", milliseconds[static_cast<std::size_t>(steps / 2)]);
}
