#pragma once
// Which queries, keys and values fit together, and which padding fits them: one rule for the fused operation and for
// those who compute attention in small steps.

#include "autograd/mask.h"
#include "autograd/tensor.h"

namespace reel {

/// Throws, naming `operation`, unless these are q (..., T, D), k (..., S, D) and v (..., S, E), where the leading axes
/// of k and v are those of q, or 1. Padding that the mask hides must be (B, S), or (1, S) for all texts; q is then
/// (B, ..., T, D).
void check_attention_shapes(const char* operation, const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask);

}  // namespace reel
