#pragma once
// The network that works on every position by itself: to more dimensions, ReLU or GELU, and back.

#include "nn/layers.h"
#include "nn/residual.h"

namespace reel::nn {

enum class Activation { relu, gelu };

/// Two linear layers: x (..., D) -> (..., hidden) -> (..., D). Parameters 0.weight, 2.weight, ..., as in
/// Sequential(Linear, relu, Linear).
class FeedForward : public Module {
 public:
  FeedForward(int64_t width, int64_t hidden, Activation activation = Activation::relu, DType dtype = DType::f32);
  Tensor operator()(const Tensor& x) const;

  Linear up, down;

 private:
  Activation activation_;
};

/// The same as two convolutions of width 1 over x (B, T, D), with residual connection and normalization.
class ConvFeedForward : public Module {
 public:
  ConvFeedForward(int64_t width, int64_t hidden, double dropout = 0, Norm norm = Norm::post, DType dtype = DType::f32);
  Tensor operator()(const Tensor& x) const;

  Conv1d w_1, w_2;  // (hidden, D, 1), (D, hidden, 1)
  Dropout drop;     // of the hidden layer, as in PyTorch's nn.TransformerEncoderLayer
  Residual residual;
};

}  // namespace reel::nn
