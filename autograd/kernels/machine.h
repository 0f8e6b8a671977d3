#pragma once
// The machine, apart from its vectors: how large its cache lines, pages and caches are, and what a thread asks of its
// core.

#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace reel::kernels {

using std::int64_t;

/// What memory and caches send each other at a time, in bytes, as all sizes here but the next.
inline constexpr int64_t cache_line = 64;
/// How many numbers that is.
template <class T>
inline constexpr int64_t line = cache_line / static_cast<int64_t>(sizeof(T));

/// The piece of memory whose place the processor looks up at a time, unless the system gives out larger ones.
inline constexpr int64_t page = 4096;

/// The cache behind a core's first one, which is its own, too; some have 2 MiB, others 512 KiB.
inline constexpr int64_t second_cache = int64_t{1} << 20;

/// From here on the calling thread reads and writes denormal numbers as 0: they are worth nothing in training, and
/// each can cost a hundred cycles.
inline void flush_denormals() {
#if defined(__SSE2__)
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#elif defined(__aarch64__)
  constexpr std::uint64_t flush_to_zero = std::uint64_t{1} << 24;
  std::uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | flush_to_zero));
#endif
}

/// What a thread does while it waits for another one in a loop: leaves the core's resources to its neighbour.
inline void pause() {
#if defined(__SSE2__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace reel::kernels
