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
  constexpr int64_t blocks = 32, words = 4 * blocks, groups_per_chunk = 64;
  parallel_for((n + words - 1) / words, groups_per_chunk, [&](int64_t begin, int64_t end) {
    std::uint32_t word[words];
    for (int64_t group = begin; group < end; ++group) {
      philox4x32_words<blocks>(first_block + static_cast<std::uint64_t>(group * blocks), key, word);
      const int64_t start = group * words, count = std::min(words, n - start);
      for (int64_t i = 0; i < count; ++i) y[start + i] = word[i] < threshold ? T(0) : x[start + i] * scale;
    }
  });
}

}  // namespace reel::kernels
