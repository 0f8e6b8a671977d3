#include "autograd/kernels/philox.h"

#include <bit>

#include "tests/catch.h"

using namespace reel::kernels;

// The known answers of Random123 are checked in tests/autograd/random_test.cpp.
TEST_CASE("every bit of counter and key changes about half of the result") {
  const std::array<std::uint32_t, 4> counter{1, 2, 3, 4};
  const std::array<std::uint32_t, 2> key{5, 6};
  const auto before = philox4x32(counter, key);
  const auto changed_bits = [&](const std::array<std::uint32_t, 4>& after) {
    int count = 0;
    for (std::size_t i = 0; i < 4; ++i) count += std::popcount(before[i] ^ after[i]);
    return count;
  };
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    for (std::size_t word = 0; word < 4; ++word) {
      auto other = counter;
      other[word] ^= 1u << bit;
      CHECK(std::abs(changed_bits(philox4x32(other, key)) - 64) < 6 * 6);  // six standard deviations of 5.7
    }
    for (std::size_t word = 0; word < 2; ++word) {
      auto other = key;
      other[word] ^= 1u << bit;
      CHECK(std::abs(changed_bits(philox4x32(counter, other)) - 64) < 6 * 6);
    }
  }
}
