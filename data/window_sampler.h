#pragma once
// Which windows of a text are read, and in what order: at random to train, one after another to evaluate.

#include <cstdint>
#include <optional>

#include "autograd/random.h"
#include "data/batch.h"
#include "data/text_dataset.h"

namespace reel::data {

/// `batch_size` windows, each equally likely, drawn with replacement from `generator`. All that training has to
/// remember of its place in the data is generator.state(). Throws unless batch_size > 0.
Batch random_batch(const TextDataset& dataset, int64_t batch_size, Generator& generator);

/// Goes through a text once, in windows that do not overlap: the next begins where the last one's input ended, and so
/// every token but the first is a target exactly once; a text of n tokens gives n - 1. What is left when no whole
/// window fits comes last, as a batch of one shorter window. Batches are thus of unequal size: to average a loss over
/// the text, weight each batch by its targets.numel().
class SequentialSampler {
 public:
  /// Keeps a reference to `dataset`. Throws unless batch_size > 0.
  SequentialSampler(const TextDataset& dataset, int64_t batch_size);
  SequentialSampler(TextDataset&&, int64_t) = delete;

  /// The next batch: `batch_size` windows while there are so many, then fewer; nothing at the end.
  std::optional<Batch> next();

 private:
  const TextDataset& dataset_;
  int64_t batch_size_;
  int64_t position_ = 0;  // of the next window's first token
};

}  // namespace reel::data
