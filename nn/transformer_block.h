#pragma once
// The block that transformers are stacked from: attention, then a feed-forward network at every position, each with a
// residual connection around it and layer normalization after it (post-norm).

#include "nn/attention.h"

namespace reel::nn {

class TransformerBlock : public Module {
 public:
  TransformerBlock(int64_t width, int64_t heads, double dropout, DType dtype = DType::f32);
  /// x (B, T, D) -> (B, T, D)
  Tensor operator()(const Tensor& x, const Mask& mask) const;

  WideAttention attention;
  LayerNorm norm1, norm2;
  Sequential ff;  // D -> 4 D -> D with a ReLU between
  Dropout drop;
};

}  // namespace reel::nn
