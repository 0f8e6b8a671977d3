#pragma once
// Gradient clipping, and scaling.

#include <vector>

#include "autograd/tensor.h"

namespace reel::optim {

/// Scales all gradients down together if their global norm, the root of the sum of all their squares, is above
/// max_norm > 0. Returns the norm as it was. A norm that is not finite leaves the gradients as they are: the caller
/// sees it and decides. Pascanu, Mikolov, Bengio: "On the difficulty of training recurrent neural networks" (2013).
double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm);

/// Multiplies all gradients by a factor > 0, as for the mean of several batches whose gradients were summed.
void scale_grads(const std::vector<Tensor>& parameters, double factor);

}  // namespace reel::optim
