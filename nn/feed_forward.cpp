#include "nn/feed_forward.h"

namespace reel::nn {

FeedForward::FeedForward(int64_t width, int64_t hidden, Activation activation, DType dtype)
    : up(child("0", Linear(width, hidden, Bias::yes, dtype))),
      down(child("2", Linear(hidden, width, Bias::yes, dtype))),
      activation_(activation) {}

Tensor FeedForward::operator()(const Tensor& x) const {
  return down(activation_ == Activation::relu ? linear_relu(x, up.weight, up.bias) : gelu(up(x)));
}

ConvFeedForward::ConvFeedForward(int64_t width, int64_t hidden, double dropout, Norm norm, DType dtype)
    : w_1(child("w_1", Conv1d(width, hidden, 1, {}, Bias::yes, dtype))),
      w_2(child("w_2", Conv1d(hidden, width, 1, {}, Bias::yes, dtype))),
      drop(child("drop", Dropout(dropout))),
      residual(merged(Residual(norm, width, dropout, dtype))) {}

Tensor ConvFeedForward::operator()(const Tensor& x) const {
  // A convolution of width 1 is a linear map of every position: no need to bring time to the last axis and back.
  const Tensor up = w_1.weight.squeeze(2), down = w_2.weight.squeeze(2);
  return residual(x, [&](const Tensor& in) { return linear(drop(linear_relu(in, up, w_1.bias)), down, w_2.bias); });
}

}  // namespace reel::nn
