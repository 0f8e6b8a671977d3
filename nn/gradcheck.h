#pragma once
// Gradient check of a layer or a model: are the gradients of its parameters right?
//
//     CHECK(check_parameters(layer, [&] { return layer(x); }).problem == "");

#include <functional>

#include "autograd/gradcheck.h"
#include "nn/module.h"

namespace reel::nn {

/// gradcheck of output() with respect to each parameter of `module`, which must be f64, one after the other; a problem
/// is told with the parameter's name. It is a problem, too, if the module has no parameters, or if output() reads a
/// leaf that requires a gradient and is none of them: a part that was not named. The parameters keep their numbers.
/// Throws where gradcheck does, and while a tape records.
GradcheckResult check_parameters(const Module& module, const std::function<Tensor()>& output,
                                 const GradcheckOptions& options = {});

}  // namespace reel::nn
