#pragma once
// Philox4x32-10, a counter-based random number generator.
//
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). It has no hidden state to step
// through: the random words of block i are a hash of i under a key. So they can be computed in any order, on any
// thread, and a second time.

#include <array>
#include <cstdint>

namespace reel::kernels {

/// Ten rounds of Philox4x32 over one counter: four random 32-bit words. Random123 calls it philox4x32_R(10, ...).
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  // The multipliers were searched for by the paper's authors; the key's steps are the golden ratio and sqrt(3) - 1.
  constexpr std::uint64_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;
  constexpr std::uint32_t key_step_0 = 0x9E3779B9, key_step_1 = 0xBB67AE85;
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t product_0 = multiplier_0 * counter[0], product_1 = multiplier_1 * counter[2];
    counter = {static_cast<std::uint32_t>(product_1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product_1),
               static_cast<std::uint32_t>(product_0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product_0)};
    key[0] += key_step_0;
    key[1] += key_step_1;
  }
  return counter;
}

}  // namespace reel::kernels
