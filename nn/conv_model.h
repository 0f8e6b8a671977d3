#pragma once
// ConvModel: a language model of causal convolutions, as a baseline.
//
// Token embedding, then `depth` times a dilated causal convolution, ReLU, a residual connection and layer norm, then a
// projection. With a kernel of K and dilations 1, 2, 4, ... it looks back on 1 + (K - 1) (2^depth - 1) tokens. As in
// van den Oord et al.: "WaveNet" (2016) and Bai, Kolter, Koltun: "An empirical evaluation of generic convolutional and
// recurrent networks for sequence modeling" (2018).

#include <vector>

#include "nn/language_model.h"
#include "nn/layers.h"

namespace reel::nn {

class ConvModel : public LanguageModel {
 public:
  struct Config {
    int64_t vocabulary = 0;
    int64_t context = 256;  // the longest text it is asked about; it needs no positions
    int64_t embedding = 128;
    int64_t kernel = 3;
    int64_t depth = 6;
    double dropout = 0;
    DType dtype = DType::f32;
  };

  explicit ConvModel(const Config& config);
  Tensor operator()(const Ids& tokens) const override;
  int64_t context() const override { return context_; }

  /// norm(x + relu(conv(x))) for x (B, T, D); position t sees t, t - dilation, ... only.
  class Block : public Module {
   public:
    Block(int64_t width, int64_t kernel, int64_t dilation, double dropout, DType dtype);
    Tensor operator()(const Tensor& x) const;

    Conv1d conv;
    LayerNorm norm;
    Dropout drop;

   private:
    int64_t reach_;  // how many tokens before the newest it looks back on
  };

  Embedding token_embedding;
  std::vector<Block> blocks;
  Linear toprobs;

 private:
  int64_t context_;
};

}  // namespace reel::nn
