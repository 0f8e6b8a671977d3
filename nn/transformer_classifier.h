#pragma once
// Transformers that say which class a text is of.
//
// Both add token and position embeddings, stack transformer blocks that are not causal, pool over time, and project to
// the classes. CTransformer follows P. Bloem: "Transformers from scratch" (2019) and ends in log-probabilities.
// TextClassificationTransformer pools by the mean and ends in logits.

#include <optional>
#include <vector>

#include "nn/classifier.h"
#include "nn/pooling.h"
#include "nn/transformer_block.h"

namespace reel::nn {

/// What the two have in common.
class TransformerClassifier : public Classifier {
 public:
  struct Config {
    int64_t vocabulary = 0;
    int64_t classes = 2;
    int64_t length = 512;  // the most tokens of a text
    int64_t embedding = 128;
    double embedding_deviation = 1;  // of token embeddings at the start, and of position embeddings that start as noise
    /// Position embeddings, which are learned either way, start as waves (positions.h) instead of noise: near and far
    /// then differ from the first step on. Words should start small, so that they do not drown that.
    bool sinusoidal_start = false;
    int64_t heads = 8;
    int64_t depth = 6;
    Pooling pooling = Pooling::max;
    /// The token that pads shorter texts. If it is given, nobody attends to it and it is not pooled; the published
    /// models treat it as a word like any other.
    std::optional<std::int32_t> padding{};
    TransformerBlock::Options block{};
  };

  explicit TransformerClassifier(const Config& config);
  Tensor logits(const Ids& tokens) const override;
  std::vector<Tensor> attention_maps(const Ids& tokens) const override;
  const Config& config() const { return config_; }

  Embedding token_embedding, pos_embedding;
  std::vector<TransformerBlock> tblocks;
  FinalNorm final_norm;
  Linear toprobs;
  Dropout drop;

 private:
  /// 1 where a token is padding, if that is known to the model.
  Ids padding_of(const Ids& tokens) const;
  Mask mask(const Ids& tokens) const;
  /// Tokens and positions, added: (B, T, D).
  Tensor embed(const Ids& tokens) const;

  Config config_;
};

/// tokens (B, T) -> log-probabilities (B, classes)
class CTransformer : public TransformerClassifier {
 public:
  using TransformerClassifier::TransformerClassifier;
  Tensor operator()(const Ids& tokens) const { return log_probs(tokens); }
};

/// tokens (B, T) -> logits (B, classes), pooled by the mean whatever config.pooling says
class TextClassificationTransformer : public TransformerClassifier {
 public:
  explicit TextClassificationTransformer(const Config& config);
  Tensor operator()(const Ids& tokens) const { return logits(tokens); }
};

}  // namespace reel::nn
