#pragma once
// The layers that everything is built from, with PyTorch's defaults for their initial values.
//
// B batch, T time, D width, V vocabulary.

#include <functional>

#include "autograd/ops.h"
#include "nn/module.h"

namespace reel::nn {

enum class Bias { no, yes };

/// y = x Wᵀ + b: x (..., in) -> (..., out); weight (out, in), bias (out).
/// Starts uniform in ±1/√in, both.
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, Bias bias = Bias::yes, DType dtype = DType::f32);
  /// Without bias, over a weight (out, in) of another layer; trained if it is trained there. The weight itself: a view
  /// of it, such as its transpose, is a constant.
  explicit Linear(const Tensor& shared_weight) : weight(state("weight", shared_weight)) {}
  Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }

  Tensor weight, bias;  // bias undefined without
};

/// A table with one row per token: ids (...) -> (..., D); weight (V, D). Starts normal with standard deviation
/// `deviation`: a small one keeps rare tokens' rows near 0, where they do no harm.
class Embedding : public Module {
 public:
  enum class Frozen { no, yes };

  Embedding(int64_t count, int64_t width, double deviation = 1, DType dtype = DType::f32);
  /// Over a given table (V, D), whose memory it shares. A frozen one is not trained; another becomes a parameter, which
  /// requires a gradient.
  explicit Embedding(const Tensor& table, Frozen frozen = Frozen::yes);
  Tensor operator()(const Ids& ids) const { return embedding(weight, ids); }

  Tensor weight;
};

/// Each row of the last axis to mean 0 and variance 1, then scaled and shifted by weight and bias (D).
class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t width, double epsilon = 1e-5, DType dtype = DType::f32);
  Tensor operator()(const Tensor& x) const { return layer_norm(x, weight, bias, epsilon_); }
  /// norm(x) + residual, in one pass over memory.
  Tensor plus(const Tensor& x, const Tensor& residual) const { return layer_norm(x, weight, bias, epsilon_, residual); }

  Tensor weight, bias;

 private:
  double epsilon_;
};

/// In training, zeroes elements with probability p and scales up the others; in evaluation does nothing.
class Dropout : public Module {
 public:
  explicit Dropout(double p);
  Tensor operator()(const Tensor& x) const { return dropout(x, rate()); }
  /// The probability of dropping an element now.
  double rate() const { return training() ? p_ : 0; }

 private:
  double p_;
};

/// A kernel slid along time: x (B, in, T) -> (B, out, T'), T' as conv1d (autograd/ops.h) has it; weight (out, in, K),
/// bias (out).
/// Starts uniform in ±1/√(in K), both.
class Conv1d : public Module {
 public:
  Conv1d(int64_t in, int64_t out, int64_t kernel, Conv1dOptions options = {}, Bias bias = Bias::yes,
         DType dtype = DType::f32);
  Tensor operator()(const Tensor& x) const { return conv1d(x, weight, bias, options_); }

  Tensor weight, bias;

 private:
  Conv1dOptions options_;
};

/// Layers one after another; their parameters are named 0.weight, 2.bias, ... by position.
class Sequential : public Module {
 public:
  /// Sequential(Linear(8, 32), relu, Linear(32, 1)): modules, and functions of one tensor. Say reel::tanh where <cmath>
  /// is included: under `using namespace reel`, tanh alone would mean the C library's, too.
  template <class... Layers>
  explicit Sequential(Layers... layers) {
    (append(std::move(layers)), ...);
  }
  Tensor operator()(Tensor x) const {
    for (const auto& step : steps_) x = step(x);
    return x;
  }

 private:
  template <class Layer>
  void append(Layer layer) {
    if constexpr (std::is_base_of_v<Module, Layer>) {
      steps_.emplace_back(child(std::to_string(steps_.size()), std::move(layer)));
    } else {
      steps_.emplace_back(std::move(layer));
    }
  }

  std::vector<std::function<Tensor(const Tensor&)>> steps_;
};

}  // namespace reel::nn
