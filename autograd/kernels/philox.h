#pragma once
// Philox4x32-10, a counter-based random number generator.
//
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). It has no hidden state to step
// through: the random words of block i are a hash of i under a key. So they can be computed in any order, on any
// thread, and a second time.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "autograd/kernels/simd.h"

namespace reel::kernels {

/// How many random words, of 32 bits, a block has.
inline constexpr int64_t words_per_block = 4;

// The multipliers were searched for by the paper's authors; the key's steps are the golden ratio and sqrt(3) - 1.
namespace philox {
constexpr std::uint64_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;
constexpr std::uint32_t key_step_0 = 0x9E3779B9, key_step_1 = 0xBB67AE85;
constexpr int rounds = 10;

inline std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
inline std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

/// All rounds over some counters in step: while one waits for its products, the next is multiplied. A Word has 64 bits,
/// or is a vector of such. Its lower 32 are a word of the counter, what gathers in the upper ones means nothing.
template <class Word, std::size_t Count>
[[gnu::always_inline]] inline void hash(std::array<Word, 4> (&counters)[Count], std::uint64_t key) {
  std::uint32_t key_0 = low(key), key_1 = high(key);
  for (int round = 0; round < rounds; ++round) {
    const Word round_key_0(std::uint64_t{key_0}), round_key_1(std::uint64_t{key_1});
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Count; ++i) {
      auto& [c0, c1, c2, c3] = counters[i];
      const Word product_0 = multiply_lower_halves(c0, Word(multiplier_0));
      const Word product_1 = multiply_lower_halves(c2, Word(multiplier_1));
      c0 = (product_1 >> 32) ^ c1 ^ round_key_0;
      c1 = product_1;
      c2 = (product_0 >> 32) ^ c3 ^ round_key_1;
      c3 = product_0;
    }
    key_0 += key_step_0;
    key_1 += key_step_1;
  }
}
}  // namespace philox

/// The hash of one counter: four random 32-bit words. Random123 calls it philox4x32_R(10, ...).
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  std::array<std::uint64_t, 4> one[1] = {{counter[0], counter[1], counter[2], counter[3]}};
  philox::hash(one, key[0] | std::uint64_t{key[1]} << 32);
  const auto& [c0, c1, c2, c3] = one[0];
  return {philox::low(c0), philox::low(c1), philox::low(c2), philox::low(c3)};
}

namespace philox {
/// How many vectors of counters go in step, four registers each, and how many blocks that is.
constexpr std::size_t in_step = vector_registers / 8;
constexpr int64_t group = static_cast<int64_t>(in_step) * lanes<std::uint64_t>;

inline void write_group(std::uint64_t first_block, std::uint64_t key, std::uint32_t* words) {
  using Word = Vec<std::uint64_t>;
  const Word zero(std::uint64_t{0}), lower(std::uint64_t{0xffffffff});
  std::uint64_t block[group];
  std::iota(block, block + group, first_block);

  std::array<Word, 4> counters[in_step];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < in_step; ++i) {
    const Word blocks = load(block + static_cast<int64_t>(i) * lanes<std::uint64_t>);
    counters[i] = {blocks, blocks >> 32, zero, zero};
  }
  hash(counters, key);
  std::uint64_t pairs[2 * group];  // of words, the first one in the lower half
#pragma GCC unroll 4
  for (std::size_t i = 0; i < in_step; ++i) {
    const auto& [c0, c1, c2, c3] = counters[i];
    store_interleaved(pairs + static_cast<int64_t>(2 * i) * lanes<std::uint64_t>, Word((c0 & lower) | (c1 << 32)),
                      Word((c2 & lower) | (c3 << 32)));
  }
  std::memcpy(words, pairs, sizeof pairs);
}
}  // namespace philox

/// The words of consecutive blocks, one after another: block b is the hash of the counter {b's lower half, b's upper
/// half, 0, 0}.
inline void philox4x32_words(int64_t blocks, std::uint64_t first_block, std::uint64_t key, std::uint32_t* words) {
  for (; blocks >= philox::group; blocks -= philox::group) {
    philox::write_group(first_block, key, words);
    first_block += static_cast<std::uint64_t>(philox::group);
    words += words_per_block * philox::group;
  }
  if (blocks == 0) return;
  std::uint32_t last[words_per_block * philox::group];
  philox::write_group(first_block, key, last);
  std::copy_n(last, words_per_block * blocks, words);
}

}  // namespace reel::kernels
