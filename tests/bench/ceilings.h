#pragma once
// What no kernel can exceed, measured: how many operations the multipliers do in a second, and how many bytes memory
// moves, both with as many threads as kernels use; and how far two cores are from each other.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "autograd/kernels/cores.h"
#include "autograd/kernels/machine.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

namespace reel::bench {

/// Seconds that a run takes, by the clock on the wall.
template <class Run>
double seconds_of(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Runs for so long, and so often, at least.
template <class Run>
void repeat(const Run& run, std::chrono::milliseconds time = std::chrono::milliseconds(60), int runs = 3) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (int i = 0; i < runs || Clock::now() - begin < time; ++i) run();
}

/// The one in the middle, or the greater of two.
template <class X, class Less = std::less<>>
X median(std::vector<X> all, const Less& less = {}) {
  const auto middle = all.begin() + std::ssize(all) / 2;
  std::nth_element(all.begin(), middle, all.end(), less);
  return *middle;
}

/// The shortest time of a run in seconds: that of the one which others on the machine disturbed least.
template <class Run>
double best_seconds(const Run& run) {
  double best = 1e9;
  repeat([&] { best = std::min(best, seconds_of(run)); });
  return best;
}

/// Some tens of microseconds of multiplications and additions that never leave the registers, in more chains than it
/// takes to hide how long one of them needs: returns how many billions.
template <class T>
double use_multipliers() {
  using namespace kernels;
  constexpr int chains = 12, rounds = 20000;
  static std::vector<T> results;
  results.resize(static_cast<std::size_t>(threads()));
  parallel_for(threads(), 1, [&](int64_t begin, int64_t) {
    T& result = results[static_cast<std::size_t>(begin)];
    Vec<T> sums[chains];
    for (int i = 0; i < chains; ++i) sums[i] = splat(result + static_cast<T>(i));
    const Vec<T> factor = splat(T(0.999) + result), term = splat(T(0.001));
    for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
      for (int i = 0; i < chains; ++i) sums[i] = fma(sums[i], factor, term);
    }
    for (int i = 1; i < chains; ++i) sums[0] += sums[i];
    result = reduce_add(sums[0]) * T(1e-30);  // so that it is needed, and the next run starts from it
  });
  return 2e-9 * chains * rounds * static_cast<double>(lanes<T> * threads());
}

/// GFLOP/s of the multipliers when others on the machine disturb them least.
template <class T>
double fma_peak() {
  double gflop = 0;
  const double seconds = best_seconds([&] { gflop = use_multipliers<T>(); });
  return gflop / seconds;
}

/// What a run reaches that has so many billions of operations, and the multipliers by themselves right after it.
struct Speeds {
  double run, multipliers;  // GFLOP/s
  double share() const { return run / multipliers; }
};

/// Some processors lower their clock while they work on products, and for some milliseconds afterwards; neighbours move
/// it, too. So the multipliers are timed right after the run, at the clock that it leaves: for as long as it took, but
/// not longer than the clock stays.
template <class Run>
Speeds speeds_once(double gflop, const Run& run) {
  constexpr double clock_stays = 0.5e-3;  // seconds
  const double seconds = seconds_of(run);
  double multiplied = 0, multipliers_seconds = 0;
  while (multipliers_seconds < std::min(seconds, clock_stays)) {
    multipliers_seconds += seconds_of([&] { multiplied += use_multipliers<float>(); });
  }
  return {gflop / seconds, multiplied / multipliers_seconds};
}

/// Of several, the one with the median share.
inline Speeds median_share(std::vector<Speeds> all) {
  return median(std::move(all), [](const Speeds& x, const Speeds& y) { return x.share() < y.share(); });
}

/// What a run typically reaches.
template <class Run>
Speeds speeds_of(double gflop, const Run& run) {
  std::vector<Speeds> all;
  repeat([&] { all.push_back(speeds_once(gflop, run)); });
  return median_share(std::move(all));
}

/// GB/s that are read and written together when 64 MB are copied to another place.
inline double copy_bandwidth() {
  constexpr std::size_t bytes = 64 << 20;
  static const std::vector<char> from(bytes, 1);
  static std::vector<char> to(bytes);
  const std::size_t share = bytes / static_cast<std::size_t>(kernels::threads());
  const double seconds = best_seconds([&] {
    kernels::parallel_for(kernels::threads(), 1, [&](std::int64_t begin, std::int64_t) {
      const std::size_t start = static_cast<std::size_t>(begin) * share;
      std::memcpy(to.data() + start, from.data() + start, share);
    });
  });
  return 2e-9 * static_cast<double>(bytes) / seconds;
}

/// Nanoseconds that a cache line needs to get from the first core to the second and back; 0 where a process may use but
/// one. Some 50 where both share a cache, several hundred where they are on different chips: what one of them writes is
/// then far from the other, whatever the clock and memory do. A machine that is virtual may move from one to the other.
inline double round_trip() {
  const std::vector<int> cores = kernels::usable_cores();
  if (cores.size() < 2) return 0;
  constexpr int rounds = 20000;
  alignas(kernels::cache_line) std::atomic<int> ball{0};
  auto play = [&](int first) {  // one has the even numbers, the other the odd ones
    for (int turn = first; turn < 2 * rounds; turn += 2) {
      while (ball.load() != turn) kernels::pause();
      ball.store(turn + 1);
    }
  };
  return 1e9 / rounds * best_seconds([&] {
           ball = 0;
           std::thread one(play, 0), other(play, 1);
           kernels::pin(one, cores[0]);
           kernels::pin(other, cores[1]);
           one.join();
           other.join();
         });
}

}  // namespace reel::bench
