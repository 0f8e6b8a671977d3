#pragma once
// Pooling: from a vector for each token to one for the whole text.

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel::nn {

enum class Pooling { max, mean };

/// x (B, T, D) -> (B, D), over the places where `padding` (B, T) is 0; a text without any yields zeros.
Tensor pool(Pooling pooling, const Tensor& x, const Ids& padding);

}  // namespace reel::nn
