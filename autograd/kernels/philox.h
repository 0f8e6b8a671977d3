#pragma once
// Philox4x32-10, a counter-based random number generator.
//
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). It has no hidden state to step
// through: the random words of block i are a hash of i under a key. So they can be computed in any order, on any
// thread, and a second time.

#include <algorithm>
#include <array>
#include <cstdint>

namespace reel::kernels {

// The multipliers were searched for by the paper's authors; the key's steps are the golden ratio and sqrt(3) - 1.
namespace philox {
constexpr std::uint64_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;
constexpr std::uint32_t key_step_0 = 0x9E3779B9, key_step_1 = 0xBB67AE85;
constexpr int rounds = 10;
}  // namespace philox

/// Ten rounds of Philox4x32 over one counter: four random 32-bit words. Random123 calls it philox4x32_R(10, ...).
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < philox::rounds; ++round) {
    const std::uint64_t product_0 = philox::multiplier_0 * counter[0], product_1 = philox::multiplier_1 * counter[2];
    counter = {static_cast<std::uint32_t>(product_1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product_1),
               static_cast<std::uint32_t>(product_0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product_0)};
    key[0] += philox::key_step_0;
    key[1] += philox::key_step_1;
  }
  return counter;
}

/// The words of `Blocks` consecutive blocks under a 64-bit key, one after another. The same ten rounds, in step for all
/// blocks, so that compilers turn the loops over them into vector code.
template <int Blocks>
void philox4x32_words(std::uint64_t first_block, std::uint64_t key, std::uint32_t* words) {
  std::uint32_t counter[4][Blocks];
  for (std::uint32_t b = 0; b < Blocks; ++b) {
    counter[0][b] = static_cast<std::uint32_t>(first_block + b);
    counter[1][b] = static_cast<std::uint32_t>((first_block + b) >> 32);
    counter[2][b] = counter[3][b] = 0;
  }
  auto key_0 = static_cast<std::uint32_t>(key), key_1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < philox::rounds; ++round) {
    for (int b = 0; b < Blocks; ++b) {
      const std::uint64_t product_0 = philox::multiplier_0 * counter[0][b];
      const std::uint64_t product_1 = philox::multiplier_1 * counter[2][b];
      counter[0][b] = static_cast<std::uint32_t>(product_1 >> 32) ^ counter[1][b] ^ key_0;
      counter[1][b] = static_cast<std::uint32_t>(product_1);
      counter[2][b] = static_cast<std::uint32_t>(product_0 >> 32) ^ counter[3][b] ^ key_1;
      counter[3][b] = static_cast<std::uint32_t>(product_0);
    }
    key_0 += philox::key_step_0;
    key_1 += philox::key_step_1;
  }
  for (int b = 0; b < Blocks; ++b) {
    for (int w = 0; w < 4; ++w) words[4 * b + w] = counter[w][b];
  }
}

/// The same for a number of blocks that is not known when compiling.
inline void philox4x32_words(std::int64_t blocks, std::uint64_t first_block, std::uint64_t key, std::uint32_t* words) {
  constexpr int group = 16;
  std::int64_t block = 0;
  for (; block + group <= blocks; block += group) {
    philox4x32_words<group>(first_block + static_cast<std::uint64_t>(block), key, words + 4 * block);
  }
  if (block == blocks) return;
  std::uint32_t last[4 * group];
  philox4x32_words<group>(first_block + static_cast<std::uint64_t>(block), key, last);
  std::copy_n(last, 4 * (blocks - block), words + 4 * block);
}

}  // namespace reel::kernels
