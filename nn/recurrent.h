#pragma once
// Recurrent layers: one state that reads a text from left to right. What came before attention, as a baseline.
//
// Parameters and gates are PyTorch's: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, gates r, z, n in this order.
// B batch, T time, I input width, D state width.

#include <optional>

#include "nn/layers.h"

namespace reel::nn {

/// The states at all times (B, T, D), and the last one of each text (B, D).
struct States {
  Tensor all, last;
};

/// What RNN and GRU have in common: walking along time.
class Recurrent : public Module {
 public:
  /// Reads x (B, T, I) from the state `initial` (B, D), zeros if undefined. Where `padding` (B, T) is 1 the state stays
  /// as it was. Throws unless shapes fit.
  States operator()(const Tensor& x, const Tensor& initial = {}, const std::optional<Ids>& padding = {}) const;

  Tensor weight_ih, weight_hh;  // (gates D, I), (gates D, D)
  Tensor bias_ih, bias_hh;      // (gates D)

 protected:
  Recurrent(int64_t input, int64_t width, int64_t gates, DType dtype);
  Recurrent(const Recurrent&) = default;
  Recurrent(Recurrent&&) = default;
  /// The next state, from the input's share of the gates (B, gates D) and the state (B, D).
  virtual Tensor step(const Tensor& from_input, const Tensor& state) const = 0;
};

/// h' = tanh(W x + b + U h + c). Elman: "Finding structure in time" (1990).
class RNN : public Recurrent {
 public:
  RNN(int64_t input, int64_t width, DType dtype = DType::f32) : Recurrent(input, width, 1, dtype) {}

 private:
  Tensor step(const Tensor& from_input, const Tensor& state) const override;
};

/// h' = (1 - z) n + z h, where r = σ(Wr x + br + Ur h + cr), z alike, and n = tanh(Wn x + bn + r (Un h + cn)).
/// Cho et al.: "Learning phrase representations using RNN encoder-decoder for statistical machine translation" (2014),
/// which resets h before the product, Un (r h); r after it, as here, is how cuDNN and PyTorch do it.
class GRU : public Recurrent {
 public:
  GRU(int64_t input, int64_t width, DType dtype = DType::f32) : Recurrent(input, width, 3, dtype) {}

 private:
  Tensor step(const Tensor& from_input, const Tensor& state) const override;
};

}  // namespace reel::nn
