#pragma once
// The block that transformers are stacked from: attention, then a feed-forward network at every position, each with a
// residual connection around it and a layer normalization.

#include <vector>

#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/residual.h"

namespace reel::nn {

class TransformerBlock : public Module {
 public:
  struct Options {
    int64_t hidden = 0;  // width of the feed-forward network; 0 for 4 times the block's
    double dropout = 0;
    Norm norm = Norm::post;  // as published; or pre
    Activation activation = Activation::relu;
    DType dtype = DType::f32;
  };

  TransformerBlock(int64_t width, int64_t heads, const Options& options);
  /// x (B, T, D) -> (B, T, D). With `past`, it goes on from the tokens that its attention has kept there.
  Tensor operator()(const Tensor& x, const Mask& mask, WideAttention::Past* past = nullptr) const;
  /// Where its attention looks: (B, H, T, T).
  Tensor attention_maps(const Tensor& x, const Mask& mask) const;

  WideAttention attention;
  LayerNorm norm1, norm2;
  FeedForward ff;
  Dropout drop;  // with Norm::post of the normalized sum, as in Bloem's code; a Residual drops what a layer adds

 private:
  Norm norm_;
};

/// Where the attention of each block of a stack looks when x goes through it: (B, H, T, T) each.
std::vector<Tensor> attention_maps(const std::vector<TransformerBlock>& blocks, Tensor x, const Mask& mask);

}  // namespace reel::nn
