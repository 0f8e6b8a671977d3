#include "nn/feed_forward.h"

namespace reel::nn {
namespace {

/// A convolution of width 1 is a linear map of every position: no need to bring time to the last axis and back.
Tensor at_every_position(const Conv1d& conv, const Tensor& x) { return linear(x, conv.weight.squeeze(2), conv.bias); }

}  // namespace

Sequential feed_forward(int64_t width, int64_t hidden, Activation activation, DType dtype) {
  return Sequential(
      Linear(width, hidden, Bias::yes, dtype), [activation](const Tensor& x) { return activate(activation, x); },
      Linear(hidden, width, Bias::yes, dtype));
}

ConvFeedForward::ConvFeedForward(int64_t width, int64_t hidden, double dropout, Norm norm, DType dtype)
    : w_1(child("w_1", Conv1d(width, hidden, 1, {}, Bias::yes, dtype))),
      w_2(child("w_2", Conv1d(hidden, width, 1, {}, Bias::yes, dtype))),
      drop(child("drop", Dropout(dropout))),
      residual(merged(Residual(norm, width, dropout, dtype))) {}

Tensor ConvFeedForward::operator()(const Tensor& x) const {
  return residual(x, [&](const Tensor& in) { return at_every_position(w_2, drop(relu(at_every_position(w_1, in)))); });
}

}  // namespace reel::nn
