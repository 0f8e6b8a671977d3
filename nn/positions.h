#pragma once
// Where in the sequence a token stands, as a vector to add to its embedding.

#include "autograd/tensor.h"

namespace reel::nn {

/// Sines and cosines of wave lengths from 2π to 10000 · 2π, (length, width):
///   P[t, 2i] = sin(t / 10000^(2i / width)),   P[t, 2i + 1] = cos(t / 10000^(2i / width))
/// Vaswani et al.: "Attention is all you need" (2017), section 3.5.
Tensor sinusoidal_positions(int64_t length, int64_t width, DType dtype = DType::f32);

}  // namespace reel::nn
