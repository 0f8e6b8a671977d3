// Times training steps (forward, backward, clipping to norm 1, Adam) of a workload. workload_bench.py is its twin in
// PyTorch; compare runs both.
//
//     workload_bench NAME [THREADS [STEPS [FILE]]]
//
// Prints "loss 4.2 norm 1.3 ms 92.5 mib 310.2 gflop 31.5": loss and norm of the gradient in the first step, the median
// of the steps' times, the process's peak of resident memory so far, and how many operations a step's matrix products
// have. With - for STEPS, the numbers of steps are read from standard input, and each is answered by a line. The
// starting weights and the batch are left in FILE for the twin.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "autograd/error.h"
#include "autograd/kernels/parallel.h"
#include "autograd/safetensors.h"
#include "autograd/tape.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tests/bench/workloads.h"

using namespace reel;
using bench::Workload;

namespace {

/// "batch.0", "batch.1", ... hold ids as f32, which every reader of safetensors knows.
void save(const Workload& workload, const std::string& path) {
  NamedTensors tensors = workload.model.state_dict();
  for (std::size_t i = 0; i < workload.batch.size(); ++i) {
    const Ids& ids = workload.batch[i];
    Tensor numbers(ids.shape(), DType::f32);
    std::transform(ids.values().begin(), ids.values().end(), numbers.data<float>(),
                   [](std::int32_t id) { return static_cast<float>(id); });
    tensors.emplace_back(text("batch.", i), numbers);
  }
  std::ofstream(path, std::ios::binary) << write_safetensors({tensors, {}});
}

struct Outcome {
  double loss, norm;
};

class Training {
 public:
  explicit Training(const Workload& workload)
      : workload_(workload), optimizer_(workload.model.parameters(), {.learning_rate = 1e-4}) {}

  Outcome step() {
    double loss = 0;
    for (int64_t part = 0; part < workload_.parts; ++part) {
      Tape tape;
      const Tensor share = workload_.loss(part) * (1.0 / static_cast<double>(workload_.parts));
      tape.backward(share);
      loss += share.item();
    }
    const double norm = optim::clip_grad_norm(workload_.model.parameters(), 1);
    optimizer_.step();
    optimizer_.zero_grad();
    return {loss, norm};
  }

  double median_milliseconds(int steps) {
    std::vector<double> times;
    for (int i = 0; i < steps; ++i) {
      const auto start = std::chrono::steady_clock::now();
      step();
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(times.begin(), times.begin() + steps / 2, times.end());
    return times[static_cast<std::size_t>(steps / 2)];
  }

 private:
  const Workload& workload_;
  optim::Adam optimizer_;
};

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc > 1 ? bench::workloads().find(argv[1]) : bench::workloads().end();
  if (found == bench::workloads().end()) {
    std::fprintf(stderr, "usage: workload_bench NAME [THREADS [STEPS [FILE]]]\nNAME is one of:");
    for (const auto& [name, make] : bench::workloads()) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  kernels::set_threads(argc > 2 ? std::atoi(argv[2]) : 1);
  manual_seed(1);
  const Workload workload = found->second();
  if (argc > 4) save(workload, argv[4]);

  Training training(workload);
  const Outcome first = training.step();
  training.step();  // from now on all memory is there
  auto report = [&](int steps) {
    const double milliseconds = training.median_milliseconds(std::max(1, steps));
    std::printf("loss %.7g norm %.7g ms %.2f mib %.1f gflop %.2f\n", first.loss, first.norm, milliseconds, peak_mib(),
                workload.gflop);
    std::fflush(stdout);
  };
  if (argc > 3 && argv[3] == std::string("-")) {
    for (int steps; std::cin >> steps;) report(steps);
  } else {
    report(argc > 3 ? std::atoi(argv[3]) : 10);
  }
}
