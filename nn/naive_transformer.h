#pragma once
// NaiveTransformer: the least that still is a transformer, one text at a time.
//
// Token embedding plus position embedding, dropout; then `depth` times single-head causal attention, layer norm and a
// residual connection; then layer norm, a projection to the vocabulary, and dropout. It has no batch axis: operator()
// runs a batch text by text and stacks the results.

#include <vector>

#include "nn/attention.h"
#include "nn/language_model.h"

namespace reel::nn {

class NaiveTransformer : public LanguageModel {
 public:
  struct Config {
    int64_t vocabulary = 0;
    int64_t context = 256;
    int64_t embedding = 256;
    int64_t depth = 6;
    double dropout = 0;
    DType dtype = DType::f32;
  };

  explicit NaiveTransformer(const Config& config);
  /// Of one text, without a batch axis: tokens (T) -> logits (T, V). Throws if T is more than context().
  Tensor logits(const Ids& tokens) const;
  Tensor operator()(const Ids& tokens) const override;
  std::vector<Tensor> attention_maps(const Ids& tokens) const override;
  int64_t context() const override { return pos_embedding.weight.size(0); }

  /// x + norm(attention(x))
  class Block : public Module {
   public:
    Block(int64_t width, DType dtype);
    Tensor operator()(const Tensor& x) const { return norm.plus(attention(x, Mask::causal()), x); }

    SingleHeadAttention attention;
    LayerNorm norm;
  };

  Embedding token_embedding, pos_embedding;
  std::vector<Block> blocks;
  LayerNorm norm;
  Linear projection;
  Dropout drop;

 private:
  /// Tokens (..., T), each added to its position: (..., T, D).
  Tensor embed(const Ids& tokens) const;
};

}  // namespace reel::nn
