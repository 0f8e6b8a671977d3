#include "data/window_sampler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "autograd/error.h"

namespace reel::data {

Batch random_batch(const TextDataset& dataset, int64_t batch_size, Generator& generator) {
  constexpr int64_t most = int64_t{1} << 40;  // windows: far more than memory has room for
  if (checked_batch_size("random_batch", batch_size) > most / dataset.context()) {
    fail("random_batch: ", batch_size, " windows of ", dataset.context(), " tokens are too many for any memory");
  }
  std::vector<int64_t> starts(static_cast<std::size_t>(batch_size));
  for (int64_t& start : starts) start = generator.below(dataset.size());
  return dataset.windows(starts);
}

SequentialSampler::SequentialSampler(const TextDataset& dataset, int64_t batch_size)
    : dataset_(dataset), batch_size_(checked_batch_size("SequentialSampler", batch_size)) {}

std::optional<Batch> SequentialSampler::next() {
  int64_t targets_left = dataset_.target_count() - position_;
  if (targets_left == 0) return std::nullopt;
  int64_t length = std::min(dataset_.context(), targets_left);
  std::vector<int64_t> starts(static_cast<std::size_t>(std::min(batch_size_, targets_left / length)));
  for (int64_t& start : starts) start = std::exchange(position_, position_ + length);
  return dataset_.windows(starts, length);
}

}  // namespace reel::data
