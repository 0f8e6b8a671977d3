#pragma once
// Residual connections, and where the layer normalization stands.
//
//   post   norm(x + f(x))      as published in 2017; needs a warm-up of the learning rate
//   pre    x + f(norm(x))      trains more easily; one more norm follows the last layer. Xiong et al.: "On layer
//                              normalization in the transformer" (2020)
//   none   f(x)

#include <optional>

#include "nn/layers.h"

namespace reel::nn {

enum class Norm { post, pre, none };

/// A layer f with a residual connection around it, dropout of what f adds, and normalization; with Norm::none, f alone.
class Residual : public Module {
 public:
  Residual(Norm norm, int64_t width, double dropout, DType dtype = DType::f32)
      : layer_norm_(norm == Norm::none ? std::nullopt
                                       : std::optional(child("layer_norm", LayerNorm(width, 1e-6, dtype)))),
        drop_(child("drop", Dropout(dropout))),
        norm_(norm) {}

  template <class Layer>
  Tensor operator()(const Tensor& x, const Layer& f) const {
    if (norm_ == Norm::post) return (*layer_norm_)(drop_(f(x)) + x);
    if (norm_ == Norm::pre) return drop_(f((*layer_norm_)(x))) + x;
    return f(x);
  }

 private:
  std::optional<LayerNorm> layer_norm_;  // none with Norm::none
  Dropout drop_;
  Norm norm_;
};

/// What comes after the last of a stack of layers: with Norm::pre, which leaves their sum as it is, a normalization.
class FinalNorm : public Module {
 public:
  FinalNorm(Norm norm, int64_t width, DType dtype = DType::f32) {
    if (norm == Norm::pre) layer_norm_ = merged(LayerNorm(width, 1e-5, dtype));
  }
  Tensor operator()(const Tensor& x) const { return layer_norm_ ? (*layer_norm_)(x) : x; }

 private:
  std::optional<LayerNorm> layer_norm_;
};

}  // namespace reel::nn
