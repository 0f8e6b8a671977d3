#include "autograd/random.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "autograd/error.h"
#include "autograd/kernels/philox.h"

namespace reel {
namespace {

using kernels::words_per_block;

std::array<std::uint32_t, words_per_block> block_at(const Generator::State& state) {
  using kernels::philox::high, kernels::philox::low;
  std::uint64_t block = state.position / words_per_block;
  return kernels::philox4x32({low(block), high(block), 0, 0}, {low(state.seed), high(state.seed)});
}

}  // namespace

void Generator::set_state(State state) {
  state_ = state;
  if (state_.position % words_per_block != 0) block_ = block_at(state_);
}

std::uint32_t Generator::bits() {
  std::uint64_t word = state_.position % words_per_block;
  if (word == 0) block_ = block_at(state_);
  ++state_.position;
  return block_[word];
}

std::uint64_t Generator::bits64() {
  std::uint64_t first = bits();
  return first << 32 | bits();
}

double Generator::uniform() {
  constexpr int digits = std::numeric_limits<double>::digits;
  return std::ldexp(static_cast<double>(bits64() >> (64 - digits)), -digits);
}

double Generator::normal() {
  double radius = std::sqrt(-2 * std::log(1 - uniform()));  // 1 - uniform() is in (0, 1]: its logarithm is finite
  double angle = 2 * std::numbers::pi * uniform();
  return radius * std::cos(angle);
}

std::int64_t Generator::below(std::int64_t bound) {
  if (bound <= 0) fail("Generator::below: the bound is ", bound, "; need bound > 0");
  auto count = static_cast<std::uint64_t>(bound);
  // The remainders of 2^64 values are not equally frequent unless `count` divides 2^64; draw again past the last whole
  // round of them.
  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t whole_rounds = last - last % count;
  std::uint64_t value = bits64();
  while (value >= whole_rounds) value = bits64();
  return static_cast<std::int64_t>(value % count);
}

Generator::State Generator::reserve(std::uint64_t words) {
  std::uint64_t blocks_begun = (state_.position + words_per_block - 1) / words_per_block;
  State start{state_.seed, blocks_begun * words_per_block};
  set_state({start.seed, start.position + words});
  return start;
}

Generator& default_generator() {
  thread_local Generator generator;
  return generator;
}

void manual_seed(std::uint64_t seed) { default_generator() = Generator(seed); }

}  // namespace reel
