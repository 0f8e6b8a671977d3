#include "nn/recurrent.h"

#include <cmath>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"

namespace reel::nn {
namespace {

/// Column t of a table (B, T) as a condition for (B, D).
Ids column(const Ids& table, int64_t t) {
  Ids result = Ids::zeros({table.size(0), 1});
  for (int64_t b = 0; b < table.size(0); ++b) result.data()[b] = table.data()[b * table.size(1) + t];
  return result;
}

}  // namespace

Recurrent::Recurrent(int64_t input, int64_t width, int64_t gates, DType dtype) {
  if (width < 1) fail("Recurrent: the width is ", width, "; need at least 1");
  const double bound = 1 / std::sqrt(static_cast<double>(width));
  auto initial = [&](const char* name, const Shape& shape) {
    return parameter(name, uniform(shape, -bound, bound, dtype));
  };
  weight_ih = initial("weight_ih_l0", {gates * width, input});
  weight_hh = initial("weight_hh_l0", {gates * width, width});
  bias_ih = initial("bias_ih_l0", {gates * width});
  bias_hh = initial("bias_hh_l0", {gates * width});
}

States Recurrent::operator()(const Tensor& x, const Tensor& initial, const std::optional<Ids>& padding) const {
  if (x.rank() != 3) fail("Recurrent: x is ", x.shape(), "; need (batch, time, width)");
  const Shape states{x.size(0), weight_hh.size(1)}, places{x.size(0), x.size(1)};
  if (initial.defined() && initial.shape() != states) {
    fail("Recurrent: the initial state is ", initial.shape(), "; need ", states);
  }
  if (padding && padding->shape() != places) fail("Recurrent: padding is ", padding->shape(), "; need ", places);

  Tensor state = initial.defined() ? initial : zeros(states, x.dtype());
  const Tensor from_input = linear(x, weight_ih, bias_ih);  // (B, T, gates D): one product for all times
  std::vector<Tensor> all;
  for (int64_t t = 0; t < x.size(1); ++t) {
    const Tensor next = step(from_input.select(1, t), state);
    state = padding ? where(column(*padding, t), state, next) : next;
    all.push_back(state);
  }
  return {all.empty() ? zeros({x.size(0), 0, states[1]}, x.dtype()) : stack(all, 1), state};
}

Tensor RNN::step(const Tensor& from_input, const Tensor& state) const {
  return tanh(from_input + linear(state, weight_hh, bias_hh));
}

Tensor GRU::step(const Tensor& from_input, const Tensor& state) const {
  const int64_t D = state.size(1);
  const std::vector<Tensor> input = split(from_input, D, 1), own = split(linear(state, weight_hh, bias_hh), D, 1);
  const Tensor reset = sigmoid(input[0] + own[0]), update = sigmoid(input[1] + own[1]);
  const Tensor proposal = tanh(input[2] + reset * own[2]);
  return (1.0 - update) * proposal + update * state;
}

}  // namespace reel::nn
