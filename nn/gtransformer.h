#pragma once
// GTransformer: a transformer that generates text.
//
// Token and position embeddings are put next to each other and unified by a linear layer; then come `depth`
// transformer blocks under a causal mask, and a projection to log-probabilities. P. Bloem: "Transformers from scratch"
// (2019), whose PyTorch code names the parameters.

#include <vector>

#include "nn/language_model.h"
#include "nn/transformer_block.h"

namespace reel::nn {

class GTransformer : public LanguageModel {
 public:
  struct Config {
    int64_t vocabulary = 0;
    int64_t context = 256;
    int64_t embedding = 128;
    int64_t heads = 8;
    int64_t depth = 12;
    double dropout = 0;
    Norm norm = Norm::post;
    Activation activation = Activation::relu;
    DType dtype = DType::f32;
  };

  explicit GTransformer(const Config& config);
  Tensor operator()(const Ids& tokens) const override;
  /// What is kept of texts that grow.
  struct Past {
    int64_t length = 0;  // tokens so far; set it back to go on from earlier ones
    std::vector<WideAttention::Past> blocks;
  };
  /// tokens (B, T) that go on from `past`, and are added to it -> (B, V): the log-probability of each token to come
  /// next. The same as operator() has it for the last of all tokens, but for rounding. Throws if a tape is recording,
  /// and if T is 0; what throws adds nothing.
  Tensor next(const Ids& tokens, Past& past) const;
  /// Keeps such a past: only what is new is computed.
  std::unique_ptr<Reader> reader() const override;
  std::vector<Tensor> attention_maps(const Ids& tokens) const override;
  int64_t context() const override { return pos_embedding.weight.size(0); }

  Embedding token_embedding, pos_embedding;
  Linear unify_embeddings;
  std::vector<TransformerBlock> tblocks;
  FinalNorm final_norm;
  Linear toprobs;

 private:
  /// Tokens and their positions, which count from `start`, unified: (B, T, D).
  Tensor embed(const Ids& tokens, int64_t start = 0) const;
  /// Of what the last block gives (..., D): (..., V)
  Tensor log_probs(const Tensor& x) const;
};

}  // namespace reel::nn
