#pragma once
// Where in memory the numbers of a result lie.

#include "autograd/tensor.h"

namespace reel {

/// A new tensor whose rows do not compete for the same places in the first cache, as those a multiple of 4096 bytes
/// long would: these lie a little further apart. A row is what the last `axes` axes hold together.
Tensor spaced(const Shape& shape, DType dtype, int axes = 1);

/// linear(x, weight), spaced: heads that are cut out of such rows are read faster.
Tensor spaced_linear(const Tensor& x, const Tensor& weight);

/// A new tensor that lies in memory as x does: if x is heads (..., H, T, D) that a view has cut out of rows (..., T,
/// H D), a view can put it together again, and it is spaced if x is.
Tensor laid_out_as(const Tensor& x, Shape shape);

}  // namespace reel
