#include "autograd/kernels/philox.h"

#include <bit>
#include <vector>

#include "tests/catch.h"

using namespace reel::kernels;

TEST_CASE("any number of blocks is the same as one at a time") {
  constexpr std::uint64_t key = 0x0123456789abcdef, first = 0xfffffffb;  // the low half of a counter runs over
  for (const std::int64_t blocks : {0, 1, 3, 4, 5, 15, 16, 17, 31, 32, 33, 70}) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(4 * blocks + 1), 99), want;
    philox4x32_words(blocks, first, key, words.data());
    for (std::uint64_t block = first; block < first + static_cast<std::uint64_t>(blocks); ++block) {
      const auto four = philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                                   {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
      want.insert(want.end(), four.begin(), four.end());
    }
    want.push_back(99);  // and not a word more
    CHECK(words == want);
  }
}

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
