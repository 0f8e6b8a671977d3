#pragma once
// Dropout: zeroes elements at random and scales up the others.

#include <algorithm>
#include <cstdint>

#include "autograd/kernels/parallel.h"
#include "autograd/kernels/philox.h"

namespace reel::kernels {

/// What is dropped: element i where word i of the hash is less than `threshold`. The others are multiplied by `scale`.
/// The words are those of `key` from block `first_block` on, so that the same numbers say the same again: nobody has to
/// keep a mask.
struct DropoutMask {
  std::uint64_t key = 0, first_block = 0;
  std::uint32_t threshold = 0;
  double scale = 1;
};

/// y[i] = x[i], dropped by the words from words[0] on; y may be x
template <class T>
void drop(const DropoutMask& mask, int64_t n, const std::uint32_t* words, const T* x, T* y) {
  const T scale = static_cast<T>(mask.scale);
  for (int64_t i = 0; i < n; ++i) {
    const T kept = x[i] * scale;  // in any case: a product that only some elements need is not vectorized
    y[i] = words[i] < mask.threshold ? T(0) : kept;
  }
}

/// The same with the mask's own words.
template <class T>
void dropout(int64_t n, const T* x, T* y, const DropoutMask& mask) {
  constexpr int64_t blocks = 32, words = words_per_block * blocks;
  constexpr int64_t groups_per_chunk = grain_for(words, elements_per_chunk / 2);  // half: words have to be drawn, too
  parallel_for(divide_up(n, words), groups_per_chunk, [&](int64_t begin, int64_t end) {
    std::uint32_t word[words];
    for (int64_t group = begin; group < end; ++group) {
      philox4x32_words(blocks, mask.first_block + static_cast<std::uint64_t>(group * blocks), mask.key, word);
      const int64_t start = group * words;
      drop(mask, std::min(words, n - start), word, x + start, y + start);
    }
  });
}

}  // namespace reel::kernels
