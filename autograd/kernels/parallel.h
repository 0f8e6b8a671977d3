#pragma once
// Loops that run on several cores, and give the same bits on any number of them.
//
// A loop over `count` items is cut into chunks of `grain` items; where it is cut depends on these two numbers alone.
// Which thread takes a chunk does not matter, as long as chunks write to different places; most often it takes
// several in a row. Choose the grain such that a chunk is worth some ten microseconds: small loops then are one chunk,
// which stays on the calling thread.
//
//     parallel_for(rows, 64, [&](int64_t begin, int64_t end) {
//       for (int64_t row = begin; row < end; ++row) means[row] = mean(x + row * n, n);
//     });

#include <algorithm>
#include <cstdint>
#include <memory>

namespace reel::kernels {

using std::int64_t;

/// a / b, and a as a multiple of b, both rounded up, for a >= 0 and b > 0.
constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }

/// Items begin to end - 1.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// What is worth a second thread: this many numbers, read, worked on and written once, or only copied, or this many
/// multiplications of a matrix product, which take some microseconds.
inline constexpr int64_t elements_per_chunk = 16384;
inline constexpr int64_t copies_per_chunk = 2 * elements_per_chunk;
inline constexpr int64_t multiplications_per_chunk = 250'000;

/// The grain for items of `size` elements.
constexpr int64_t grain_for(int64_t size, int64_t elements = elements_per_chunk) {
  return std::max<int64_t>(1, elements / std::max<int64_t>(size, 1));
}

/// How many threads share a loop, the calling one among them. At first as many as the environment variable
/// REEL_THREADS says, or else as there are cores that this process may use, or as its container grants it the time of.
/// Throws std::invalid_argument, as does the first loop that is worth several threads, if REEL_THREADS is neither empty
/// nor a number from 1 to 1024.
int threads();

/// From 1 to 1024; throws std::invalid_argument outside, and std::logic_error from within a loop that several threads
/// share.
void set_threads(int count);

namespace detail {

/// Calls body(context, begin, end) for every chunk.
using LoopBody = void (*)(const void* context, int64_t begin, int64_t end);
void run_chunks(int64_t count, int64_t grain, LoopBody body, const void* context);

inline thread_local bool flushes_denormals = false;
void start_flushing_denormals();

}  // namespace detail

/// Calls body(begin, end) for [0, grain), [grain, 2 grain), ... up to count, on several threads at once and in no
/// particular order. One chunk, one thread, a loop within a parallel loop, or one that begins while another thread's is
/// shared out: on the calling thread, in order. An exception ends the loop early and is rethrown; of several, one.
/// Denormals are flushed wherever the body runs, and stay flushed on the calling thread.
template <class Body>
void parallel_for(int64_t count, int64_t grain, const Body& body) {
  if (!detail::flushes_denormals) detail::start_flushing_denormals();
  if (count <= 0) return;
  if (count <= grain) {
    body(int64_t{0}, count);
    return;
  }
  detail::LoopBody call = [](const void* context, int64_t begin, int64_t end) {
    (*static_cast<const Body*>(context))(begin, end);
  };
  detail::run_chunks(count, std::max<int64_t>(grain, 1), call, std::addressof(body));
}

}  // namespace reel::kernels
