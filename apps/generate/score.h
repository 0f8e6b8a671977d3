#pragma once
// How well a model predicts a text: every token of it once, given what stands before it in its window.

#include <cstdint>
#include <span>
#include <string>

#include "nn/language_model.h"

namespace reel::apps {

struct Score {
  double loss = 0;      // mean of -log p, in nats a token
  double accuracy = 0;  // share of the tokens that the model held most probable
  std::int64_t tokens = 0;

  double bits() const;
  double perplexity() const;
};

/// "loss 1.7741 nats  bits 2.5595  perplexity 5.895  accuracy 0.4711  tokens 111539"
std::string to_string(const Score& score);

/// Reads `tokens` in windows of at most the model's context that do not overlap, `batch_size` at once. Throws, calling
/// the text `name`, if it has fewer than two tokens.
Score evaluate(nn::LanguageModel& model, std::span<const std::int32_t> tokens, std::int64_t batch_size,
               const std::string& name);

}  // namespace reel::apps
