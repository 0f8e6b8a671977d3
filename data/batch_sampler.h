#pragma once
// Which examples make up a batch, and in which order the batches come. An epoch takes every example once, whatever the
// order; its last batch may be smaller.
//
// Bucketed batches join sequences of about the same length, so that little of a batch is padding: the examples are put
// in random order, each 100 batches' worth of them is sorted by length, cut into batches, and at last all batches are
// put in random order. Epochs stay random, but short examples meet only short ones; that alone can cost a translator a
// tenth of a nat, as short sentences are not like long ones.

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/random.h"
#include "autograd/shape.h"

namespace reel::data {

using Indices = std::vector<int64_t>;  // places of examples

// These functions throw unless there are examples and batch_size > 0. An example's place in `lengths` is its place in
// the data; for pairs, use the sum of both lengths.

/// All places in random order, every order equally likely, cut into batches: to train.
std::vector<Indices> random_batches(int64_t count, int64_t batch_size, Generator& generator);
/// Bucketed: to train, with less padding.
std::vector<Indices> bucketed_batches(std::span<const int64_t> lengths, int64_t batch_size, Generator& generator);
/// From the shortest example to the longest: to evaluate, with the least padding.
std::vector<Indices> sorted_batches(std::span<const int64_t> lengths, int64_t batch_size);
/// The same, but only examples of equal length share a batch: to evaluate without any padding.
std::vector<Indices> unpadded_batches(std::span<const int64_t> lengths, int64_t batch_size);

/// Epoch after epoch, without end. All that a run must remember to go on is state().
class BatchSampler {
 public:
  struct State {
    Generator::State generator;  // as it was before this epoch
    int64_t epoch = 0;           // how many are complete
    int64_t batch = 0;           // how many batches of this epoch have been taken
    friend bool operator==(const State&, const State&) = default;
  };
  enum class Kind { random, bucketed };

  /// Throws unless there are examples and batch_size > 0.
  BatchSampler(std::vector<int64_t> lengths, int64_t batch_size, Kind kind, Generator generator);

  /// The next batch; after an epoch's last one, the first of the next epoch.
  const Indices& next();

  int64_t batches_per_epoch() const { return static_cast<int64_t>(batches_.size()); }
  const State& state() const { return state_; }
  /// Goes on as the sampler whose state() it was. Throws if that cannot have been one of the same examples and batch
  /// size.
  void set_state(const State& state);

 private:
  void begin_epoch();

  std::vector<int64_t> lengths_;
  int64_t batch_size_;
  Kind kind_;
  State state_;
  Generator generator_;
  std::vector<Indices> batches_;
};

}  // namespace reel::data
