// How fast matrix products run, in GFLOP/s and as a fraction of what the multipliers can do: one thread, or as many as
// the first argument says. Times are the best and the median of repeated runs on warm data.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "autograd/kernels/matmul.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

using namespace reel::kernels;

namespace {

struct Times {
  double best, median;  // seconds a run
};

/// Repeats a run in samples of about 2 ms each.
Times measure(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  auto seconds = [&](int repeats) {
    auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) run();
    return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
  };
  run();
  const int repeats = std::max(1, static_cast<int>(2e-3 / seconds(3)));
  std::vector<double> samples(31);
  for (double& sample : samples) sample = seconds(repeats);
  std::sort(samples.begin(), samples.end());
  return {samples.front(), samples[samples.size() / 2]};
}

/// GFLOP/s of independent multiplications that never leave the registers, on every thread at once.
template <class T>
double peak() {
  constexpr int chains = 12, rounds = 20000;
  std::vector<T> sink(static_cast<std::size_t>(threads()));
  auto run = [&] {
    parallel_for(threads(), 1, [&](int64_t begin, int64_t) {
      Vec<T> sums[chains];
      for (int i = 0; i < chains; ++i) sums[i] = splat(static_cast<T>(i) + sink[0]);
      const Vec<T> factor = splat(T(0.999) + sink[0]), step = splat(T(0.001));
      for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
        for (int i = 0; i < chains; ++i) sums[i] = fma(sums[i], factor, step);
      }
      for (int i = 1; i < chains; ++i) sums[0] += sums[i];
      sink[static_cast<std::size_t>(begin)] = reduce_add(sums[0]) * T(1e-30);
    });
  };
  return 2.0 * chains * rounds * static_cast<double>(lanes<T> * threads()) / measure(run).best * 1e-9;
}

enum class Layout { rows, transposed };

/// `batch` products of m x k by k x n.
template <class T>
void bench(int64_t batch, int64_t m, int64_t k, int64_t n, Layout a_layout, Layout b_layout, double limit) {
  std::vector<T> a(static_cast<std::size_t>(batch * m * k)), b(static_cast<std::size_t>(batch * k * n)),
      c(static_cast<std::size_t>(batch * m * n));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i % 17) - T(8);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i % 13) - T(6);
  auto matrix = [](const T* data, int64_t rows, int64_t columns, Layout layout) {
    return layout == Layout::rows ? Matrix<const T>{data, columns, 1} : Matrix<const T>{data, 1, rows};
  };
  const int64_t a_stride = m * k, b_stride = k * n;
  Times times = measure([&] {
    batched_matmul({&batch, 1}, m, n, k, matrix(a.data(), m, k, a_layout), {&a_stride, 1},
                   matrix(b.data(), k, n, b_layout), {&b_stride, 1}, c.data());
  });
  const double operations = 2e-9 * static_cast<double>(batch * m * n * k);
  std::printf("%5lld x (%5lld x %5lld x %5lld) %s%s  best %6.1f  median %6.1f GFLOP/s  %3.0f %% of peak  %8.1f us\n",
              static_cast<long long>(batch), static_cast<long long>(m), static_cast<long long>(k),
              static_cast<long long>(n), a_layout == Layout::rows ? "a " : "a'", b_layout == Layout::rows ? "b " : "b'",
              operations / times.best, operations / times.median, 100 * operations / times.best / limit,
              1e6 * times.best);
}

template <class T>
void bench_all(const char* name) {
  using enum Layout;
  const double limit = peak<T>();
  std::printf("%s, %d thread(s): peak %.1f GFLOP/s. Sizes are batch x (m x k x n); ' marks a transposed operand.\n",
              name, threads(), limit);
  for (int64_t size : {32, 64, 128, 256, 384, 512, 768, 1024}) bench<T>(1, size, size, size, rows, rows, limit);
  // A linear layer, y = x w', and its gradients, dx = dy w and dw = dy' x.
  for (auto [in, out] : {std::pair<int64_t, int64_t>{128, 512}, {512, 128}, {128, 128}, {256, 256}, {1024, 128}}) {
    const int64_t tokens = 768;
    bench<T>(1, tokens, in, out, rows, rows, limit);
    bench<T>(1, tokens, in, out, rows, transposed, limit);
    bench<T>(1, tokens, out, in, rows, rows, limit);
    bench<T>(1, out, tokens, in, transposed, rows, limit);
  }
  // Attention: scores, weighted values, and the like in small.
  bench<T>(48, 64, 128, 64, rows, transposed, limit);
  bench<T>(48, 64, 64, 128, rows, rows, limit);
  bench<T>(48, 64, 64, 128, transposed, rows, limit);
  bench<T>(64, 100, 100, 100, rows, transposed, limit);
  bench<T>(64, 100, 100, 100, rows, rows, limit);
  bench<T>(256, 24, 32, 24, rows, transposed, limit);
  bench<T>(256, 24, 24, 32, rows, rows, limit);
  // Vectors and thin matrices.
  bench<T>(1, 1, 512, 512, rows, rows, limit);
  bench<T>(1, 1, 512, 512, rows, transposed, limit);
  bench<T>(1, 512, 512, 1, rows, rows, limit);
  bench<T>(1, 512, 512, 1, transposed, rows, limit);
  bench<T>(1, 4, 512, 512, rows, rows, limit);
  bench<T>(1, 4, 512, 512, rows, transposed, limit);
}

}  // namespace

int main(int argc, char** argv) {
  set_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  bench_all<float>("f32");
  bench_all<double>("f64");
}
