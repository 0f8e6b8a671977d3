#pragma once
// How often a model is right, and how sure of it.

#include <cstdint>
#include <string>

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel::apps {

struct Hits {
  std::int64_t right = 0;
  std::int64_t all = 0;

  /// The share that was right, of at least one.
  double share() const { return static_cast<double>(right) / static_cast<double>(all); }
  Hits& operator+=(const Hits& more);
};

/// How often the largest of logits, or log-probabilities, (..., V) is the one that targets (...) name. Throws unless
/// there is a target for each V logits, and each is one of them.
Hits count_hits(const Tensor& logits, const Ids& targets);

/// How good predictions are, of tokens or of whole texts.
struct Score {
  double loss = 0;      // mean of -log p of what was right, in nats
  double accuracy = 0;  // share of the predictions that held the right one most probable
  std::int64_t predictions = 0;

  double bits() const;
  double perplexity() const;
};

/// Throws if one of a model's logits, for classes or for tokens, is NaN: none of them is the best then.
void check_numbers(const Tensor& logits);

/// How many texts, or pairs of sentences, are scored at once; a score does not depend on it. Windows of a text,
/// which may be long, are scored as many at once as train together: for those there is memory.
inline constexpr std::int64_t scoring_batch = 64;

/// Throws unless the loss of `model`, a folder, is finite.
void check_finite(const Score& score, const std::string& model);

/// "loss 1.7741 nats  bits 2.5595  perplexity 5.895  accuracy 0.4711  tokens 111539"
std::string line_of_tokens(const Score& score);
/// "accuracy 0.8745  loss 0.3021 nats  texts 25000"
std::string line_of_texts(const Score& score);
/// "  3 cut at --max 5", for the end of such a line; nothing if none are.
std::string note_of_cuts(std::int64_t cut, std::int64_t length);

/// A score of many batches: means over all that they predict, however they are cut.
struct ScoreSum {
  double losses = 0;  // of all predictions
  Hits hits;

  /// Adds a batch, whose mean loss this is.
  void add(double loss, const Hits& more);
  ScoreSum& operator+=(const ScoreSum& more);
  /// Of one prediction or more.
  Score score() const;
};

}  // namespace reel::apps
