#include "autograd/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include "autograd/error.h"
#include "autograd/kernels/philox.h"
#include "tests/catch.h"

using namespace reel;

namespace {

using Block = std::array<std::uint32_t, 4>;

std::vector<std::uint32_t> draw(Generator& generator, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  for (std::uint32_t& word : words) word = generator.bits();
  return words;
}

}  // namespace

// Random123, tests/kat_vectors: the lines "philox4x32 10".
TEST_CASE("philox gives the known answers") {
  CHECK(kernels::philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(kernels::philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(kernels::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a generator's words are the blocks of its seed, one after another") {
  std::uint64_t seed = 0x0123456789abcdef;
  Generator generator(seed);
  for (std::uint32_t block = 0; block < 3; ++block) {
    auto expected = kernels::philox4x32({block, 0, 0, 0}, {0x89abcdef, 0x01234567});
    for (std::uint32_t word : expected) CHECK(generator.bits() == word);
  }
  generator.set_state({seed, std::uint64_t{4} << 32});
  CHECK(generator.bits() == kernels::philox4x32({0, 1, 0, 0}, {0x89abcdef, 0x01234567})[0]);
}

TEST_CASE("a generator goes on from a saved state, wherever in a block it was saved") {
  Generator generator(7);
  for (std::size_t used = 0; used < 10; ++used) {
    generator = Generator(7);
    draw(generator, used);
    Generator::State state = generator.state();
    CHECK(state == Generator::State{7, used});
    auto expected = draw(generator, 9);

    Generator restored(1);
    draw(restored, 2);  // leaves a block of another seed behind
    restored.set_state(state);
    CHECK(draw(restored, 9) == expected);
    CHECK(restored.state() == generator.state());
  }
}

TEST_CASE("reserve hands out whole blocks that nothing else draws from") {
  for (std::size_t used = 0; used < 9; ++used) {
    for (std::uint64_t words : {0u, 1u, 4u, 5u, 8u}) {
      Generator all(3);
      auto stream = draw(all, 64);

      Generator generator(3);
      draw(generator, used);
      Generator::State start = generator.reserve(words);
      CHECK(start.seed == 3);
      CHECK(start.position % 4 == 0);
      CHECK(start.position >= used);
      CHECK(start.position < used + 4);
      CHECK(generator.state().position == start.position + words);
      CHECK(generator.bits() == stream[start.position + words]);
    }
  }
}

TEST_CASE("uniform lies in [0, 1) and is spread evenly") {
  Generator generator(11);
  constexpr int count = 20000, bins = 10;
  std::vector<int> histogram(bins);
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    double value = generator.uniform();
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    sum += value;
    ++histogram[static_cast<std::size_t>(value * bins)];
  }
  CHECK(sum / count == Approx(0.5).margin(0.01));                                 // 5 standard errors
  for (int hits : histogram) CHECK(hits == Approx(count / bins).margin(5 * 45));  // 5 standard deviations
}

TEST_CASE("normal has the moments of the standard normal") {
  Generator generator(12);
  constexpr int count = 40000;
  double sum = 0, squares = 0, cubes = 0, fourths = 0;
  int within_one = 0;
  for (int i = 0; i < count; ++i) {
    double value = generator.normal();
    REQUIRE(std::isfinite(value));
    sum += value;
    squares += value * value;
    cubes += value * value * value;
    fourths += value * value * value * value;
    within_one += std::abs(value) < 1;
  }
  CHECK(sum / count == Approx(0).margin(0.025));  // about 5 standard errors, here and below
  CHECK(squares / count == Approx(1).margin(0.035));
  CHECK(cubes / count == Approx(0).margin(0.1));
  CHECK(fourths / count == Approx(3).margin(0.25));
  CHECK(static_cast<double>(within_one) / count == Approx(0.6827).margin(0.012));
}

TEST_CASE("below reaches every value equally often and never the bound") {
  Generator generator(13);
  for (std::int64_t bound : {1, 2, 3, 7, 10}) {
    std::vector<int> histogram(static_cast<std::size_t>(bound));
    constexpr int count = 10000;
    for (int i = 0; i < count; ++i) {
      std::int64_t value = generator.below(bound);
      REQUIRE(value >= 0);
      REQUIRE(value < bound);
      ++histogram[static_cast<std::size_t>(value)];
    }
    double share = 1 / static_cast<double>(bound);
    double deviation = std::sqrt(count * share * (1 - share));
    for (int hits : histogram) CHECK(std::abs(hits - count * share) <= 5 * deviation);
  }
}

TEST_CASE("below is unbiased where a plain remainder is not") {
  // 2^64 holds 3 * 2^61 twice and 2^62 over: a remainder alone would hit the lower 2^62 values three times out of
  // four, not two out of three.
  constexpr std::int64_t unit = std::int64_t{1} << 61, bound = 3 * unit;
  Generator generator(14);
  int lower = 0;
  constexpr int count = 9000;
  for (int i = 0; i < count; ++i) lower += generator.below(bound) < 2 * unit;
  CHECK(std::abs(lower - count * 2 / 3) <= 5 * 45);
}

TEST_CASE("below takes the largest bound") {
  constexpr std::int64_t bound = std::numeric_limits<std::int64_t>::max();
  Generator generator(14);
  for (int i = 0; i < 100; ++i) {
    std::int64_t value = generator.below(bound);
    CHECK(value >= 0);
    CHECK(value < bound);
  }
}

TEST_CASE("below refuses a bound that leaves nothing to draw") {
  Generator generator;
  CHECK_THROWS_WITH(generator.below(0), ContainsSubstring("bound is 0"));
  CHECK_THROWS_AS(generator.below(-1), Error);
}

TEST_CASE("shuffle permutes, the same for the same seed and each order equally often") {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  auto first = items, again = items, other = items;
  Generator(5).shuffle(std::span(first));
  Generator(5).shuffle(std::span(again));
  Generator(6).shuffle(std::span(other));
  CHECK(first == again);
  CHECK(first != other);
  CHECK(first != items);
  std::sort(first.begin(), first.end());
  CHECK(first == items);

  Generator generator(15);
  std::map<std::vector<int>, int> orders;
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> three{0, 1, 2};
    generator.shuffle(std::span(three));
    ++orders[three];
  }
  CHECK(orders.size() == 6);
  for (const auto& [order, hits] : orders) CHECK(std::abs(hits - 1000) <= 5 * 29);

  std::vector<int> none;
  generator.shuffle(std::span(none));
}

TEST_CASE("the default generator is each thread's own and starts anew with manual_seed") {
  manual_seed(21);
  auto first = draw(default_generator(), 5);
  manual_seed(21);
  std::vector<std::uint32_t> elsewhere;
  std::thread([&] {
    manual_seed(21);
    elsewhere = draw(default_generator(), 5);
  }).join();
  CHECK(elsewhere == first);
  CHECK(draw(default_generator(), 5) == first);
}
