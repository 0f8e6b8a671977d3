// How fast each step of matmul_steps.h is, on one thread: GFLOP/s, the share of what the multipliers can do, measured
// in the same run, and how many times as fast as the step before. autograd/kernels/MATMUL.md explains the figures.
//
//     matmul_steps_bench [SIZE...]
//
// multiplies f32 matrices of SIZE x SIZE, by default 512 and 1024. The steps take turns, so that a clock that drifts is
// the same for all, and the shortest time of each counts. 2048 is worth a look too, but takes minutes, nearly all of
// them in step 1.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "autograd/kernels/parallel.h"
#include "tests/bench/ceilings.h"
#include "tests/bench/matmul_steps.h"

using namespace reel;
using std::int64_t;

namespace {

struct Step {
  const char* name;
  void (*multiply)(int64_t n, const float* a, const float* b, float* c);
};

constexpr Step steps[] = {
    {"1 by definition", kernels::steps::multiply_by_definition}, {"2 along rows", kernels::steps::multiply_along_rows},
    {"3 in registers", kernels::steps::multiply_in_registers},   {"4 in caches", kernels::steps::multiply_in_caches},
    {"5 as shipped", kernels::steps::multiply_as_shipped},
};

struct Free {
  void operator()(float* data) const { ::operator delete[](data, std::align_val_t(kernels::vector_alignment)); }
};

/// `count` numbers that start where a cache line does.
using Numbers = std::unique_ptr<float[], Free>;
Numbers numbers(int64_t count) {
  return Numbers(new (std::align_val_t(kernels::vector_alignment)) float[static_cast<std::size_t>(count)]);
}

/// Prints the table for one size; false if a step's result is not that of the first.
bool compare(int64_t n) {
  constexpr int turns = 5;
  constexpr double too_slow_to_repeat = 1;  // seconds
  const Numbers a = numbers(n * n), b = numbers(n * n), c = numbers(n * n), expected = numbers(n * n);
  std::mt19937 random(1);
  for (const Numbers* x : {&a, &b}) {  // small integers: their sums are exact, in any order
    std::generate_n(x->get(), n * n, [&] { return static_cast<float>(random() % 17) - 8; });
  }

  double peak = 0;
  std::vector<double> shortest(std::size(steps), std::numeric_limits<double>::infinity());
  for (int turn = 0; turn < turns; ++turn) {
    peak = std::max(peak, bench::fma_peak<float>());
    for (std::size_t s = 0; s < std::size(steps); ++s) {
      if (turn > 0 && shortest[s] > too_slow_to_repeat) continue;
      float* result = turn == 0 && s == 0 ? expected.get() : c.get();
      std::fill_n(result, n * n, std::numeric_limits<float>::quiet_NaN());
      const double seconds = bench::best_seconds([&] { steps[s].multiply(n, a.get(), b.get(), result); });
      shortest[s] = std::min(shortest[s], seconds);
      if (!std::equal(result, result + n * n, expected.get())) {
        std::fprintf(stderr, "matmul_steps_bench: step %s gives another product than step 1\n", steps[s].name);
        return false;
      }
    }
  }

  const double operations = 2e-9 * static_cast<double>(n * n * n);
  std::printf("%lld x %lld, FMA peak %.1f GFLOP/s\n", static_cast<long long>(n), static_cast<long long>(n), peak);
  std::printf("%-16s %10s %10s %8s %12s\n", "step", "ms", "GFLOP/s", "of peak", "step before");
  for (std::size_t s = 0; s < std::size(steps); ++s) {
    const double speed = operations / shortest[s];
    std::printf("%-16s %10.3f %10.1f %6.1f %%", steps[s].name, 1e3 * shortest[s], speed, 100 * speed / peak);
    if (s > 0) std::printf("%10.2f x", shortest[s - 1] / shortest[s]);
    std::printf("\n");
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {512, 1024};
  kernels::set_threads(1);
  for (int64_t n : sizes) {
    if (n <= 0 || n % kernels::panel_width<float> != 0) {
      std::fprintf(stderr, "matmul_steps_bench: size %lld; sizes are multiples of %lld here\n",
                   static_cast<long long>(n), static_cast<long long>(kernels::panel_width<float>));
      return 2;
    }
    if (!compare(n)) return 1;
  }
}
