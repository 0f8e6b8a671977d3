#pragma once
// Random numbers that are the same on every machine (but for the last bit of normal()), from the counter-based
// generator of kernels/philox.h: two integers are all that a run needs to resume, and a dropout mask does not depend on
// the number of threads.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace reel {

/// A stream of random numbers: words 0, 1, 2, ... of the hash of `seed`. Block b, that is words 4 b .. 4 b + 3, is
/// philox4x32 of the counter {b's low half, b's high half, 0, 0} under the key {seed's low half, seed's high half}.
class Generator {
 public:
  /// All there is to know of a generator; save it and hand it back to go on where it was.
  struct State {
    std::uint64_t seed = 0;
    std::uint64_t position = 0;  // in words, of the next one
    friend bool operator==(const State&, const State&) = default;
  };

  explicit Generator(std::uint64_t seed = 0) : state_{seed, 0} {}
  const State& state() const { return state_; }
  void set_state(State state);

  std::uint32_t bits();
  /// Uniform in [0, 1), 53 random bits; two words.
  double uniform();
  /// Normal with mean 0 and variance 1, by Box and Muller's transform; four words. Its last bit is the C library's.
  double normal();
  /// Uniform in 0 .. bound - 1, without bias; two words, rarely more. Throws unless bound > 0.
  std::int64_t below(std::int64_t bound);
  /// Puts the items in random order, each order as likely as any other (Fisher and Yates): shuffle(std::span(items)).
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }
  }

  /// Sets aside the next `words` words, from a whole block on, for a kernel that computes them itself, in any order
  /// and on any thread; returns where they start.
  State reserve(std::uint64_t words);

 private:
  std::uint64_t bits64();

  State state_;
  std::array<std::uint32_t, 4> block_{};  // the words that state_.position lies in, where that is not a block's first
};

/// The thread's generator that initialisation and dropout draw from.
Generator& default_generator();
/// Starts default_generator() anew.
void manual_seed(std::uint64_t seed);

}  // namespace reel
