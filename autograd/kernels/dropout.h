#pragma once
// Dropout: zeroes elements at random and scales up the others.

#include <algorithm>
#include <array>
#include <cstdint>

#include "autograd/kernels/parallel.h"
#include "autograd/kernels/philox.h"

namespace reel::kernels {

/// y[i] = word i of the hash < threshold ? 0 : x[i] scale. The words are those of `key` from block `first_block` on,
/// so that the same call gives the same mask: nobody has to keep it.
template <class T>
void dropout(int64_t n, const T* x, T* y, std::uint64_t key, std::uint64_t first_block, std::uint32_t threshold,
             T scale) {
  constexpr int64_t words = 4, blocks_per_chunk = 2048;
  auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  auto high = [](std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); };
  parallel_for((n + words - 1) / words, blocks_per_chunk, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const std::uint64_t block = first_block + static_cast<std::uint64_t>(b);
      const auto word = philox4x32({low(block), high(block), 0, 0}, {low(key), high(key)});
      const int64_t start = b * words, count = std::min(words, n - start);
      for (int64_t i = 0; i < count; ++i) {
        y[start + i] = word[static_cast<std::size_t>(i)] < threshold ? T(0) : x[start + i] * scale;
      }
    }
  });
}

}  // namespace reel::kernels
