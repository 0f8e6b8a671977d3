#include "data/batch_sampler.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "autograd/error.h"
#include "data/batch.h"

namespace reel::data {
namespace {

constexpr int64_t batches_in_a_bucket = 100;

Indices all_rows(int64_t count) {
  if (count <= 0) fail("batches: there are ", count, " examples; need one or more");
  Indices rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Indices shuffled_rows(int64_t count, Generator& generator) {
  Indices rows = all_rows(count);
  generator.shuffle(std::span(rows));
  return rows;
}

std::vector<Indices> cut(const Indices& rows, int64_t size) {
  std::vector<Indices> batches;
  for (auto at = rows.begin(); at != rows.end();) {
    auto end = at + std::min(size, rows.end() - at);
    batches.emplace_back(at, end);
    at = end;
  }
  return batches;
}

int64_t length_at(std::span<const int64_t> lengths, int64_t row) { return lengths[static_cast<std::size_t>(row)]; }

/// Of equal length, they stay in their order.
Indices sorted(Indices rows, std::span<const int64_t> lengths) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](int64_t a, int64_t b) { return length_at(lengths, a) < length_at(lengths, b); });
  return rows;
}

}  // namespace

std::vector<Indices> random_batches(int64_t count, int64_t batch_size, Generator& generator) {
  return cut(shuffled_rows(count, generator), checked_batch_size("batches", batch_size));
}

std::vector<Indices> bucketed_batches(std::span<const int64_t> lengths, int64_t batch_size, Generator& generator) {
  std::vector<Indices> batches;
  // no more than there are: the product could overflow
  int64_t bucket_size = std::min(checked_batch_size("batches", batch_size), std::ssize(lengths)) * batches_in_a_bucket;
  for (Indices& bucket : cut(shuffled_rows(std::ssize(lengths), generator), bucket_size)) {
    for (Indices& batch : cut(sorted(std::move(bucket), lengths), batch_size)) batches.push_back(std::move(batch));
  }
  generator.shuffle(std::span(batches));
  return batches;
}

std::vector<Indices> sorted_batches(std::span<const int64_t> lengths, int64_t batch_size) {
  return cut(sorted(all_rows(std::ssize(lengths)), lengths), checked_batch_size("batches", batch_size));
}

std::vector<Indices> unpadded_batches(std::span<const int64_t> lengths, int64_t batch_size) {
  checked_batch_size("batches", batch_size);
  std::vector<Indices> batches;
  for (int64_t row : sorted(all_rows(std::ssize(lengths)), lengths)) {
    const bool joins = !batches.empty() && std::ssize(batches.back()) < batch_size &&
                       length_at(lengths, batches.back().front()) == length_at(lengths, row);
    if (!joins) batches.emplace_back();
    batches.back().push_back(row);
  }
  return batches;
}

BatchSampler::BatchSampler(std::vector<int64_t> lengths, int64_t batch_size, Kind kind, Generator generator)
    : lengths_(std::move(lengths)), batch_size_(batch_size), kind_(kind), generator_(generator) {
  begin_epoch();
}

void BatchSampler::begin_epoch() {
  state_.generator = generator_.state();
  batches_ = kind_ == Kind::random ? random_batches(std::ssize(lengths_), batch_size_, generator_)
                                   : bucketed_batches(lengths_, batch_size_, generator_);
}

const Indices& BatchSampler::next() {
  if (state_.batch == batches_per_epoch()) {
    state_.batch = 0;
    ++state_.epoch;
    begin_epoch();
  }
  return batches_[static_cast<std::size_t>(state_.batch++)];
}

void BatchSampler::set_state(const State& state) {
  if (state.epoch < 0 || state.batch < 0 || state.batch > batches_per_epoch()) {
    fail("BatchSampler: batch ", state.batch, " of epoch ", state.epoch, " is no place in the data: an epoch has ",
         batches_per_epoch(), " batches; go on with the examples and the batch size that the run began with");
  }
  state_ = state;
  generator_.set_state(state.generator);
  begin_epoch();
}

}  // namespace reel::data
