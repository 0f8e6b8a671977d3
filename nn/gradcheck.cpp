#include "nn/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"

namespace reel::nn {
namespace {

/// A weighted sum of output(); one that every parameter has a part in, even if the output has not.
Tensor loss_of(const std::vector<Tensor>& parameters, const std::function<Tensor()>& output, std::uint64_t seed) {
  const Tensor y = output();
  Generator generator(seed + 1);
  Tensor loss = sum(y * randn(y.shape(), y.dtype(), generator));
  for (const Tensor& parameter : parameters) loss = loss + sum(parameter * 0.0);
  return loss;
}

/// Gives the numbers back that a tensor has now.
class Restored {
 public:
  explicit Restored(const Tensor& tensor) : tensor_(tensor), before_(copy_of(tensor)) {}
  ~Restored() { copy(before_, tensor_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  Tensor tensor_, before_;
};

/// A module reads its own parameters, not a function's arguments. So the function that is checked writes its argument x
/// into the parameter p and returns L + Σ dL/dp (x - p), whose value is L and whose gradient is the tape's dL/dp.
GradcheckResult check_parameter(const Tensor& parameter, const std::function<Tensor()>& output,
                                const GradcheckOptions& options) {
  auto loss = [&](const std::vector<Tensor>& x) {
    copy(x[0], parameter);
    const Tensor value = loss_of({parameter}, output, options.seed);
    Tape* tape = Tape::recording();
    if (!tape) return value;
    return detach(value) + sum(tape->gradients(value, {parameter})[0] * (x[0] - detach(x[0])));
  };
  const Restored restored(parameter);
  return gradcheck(loss, {parameter}, options);
}

}  // namespace

GradcheckResult check_parameters(const Module& module, const std::function<Tensor()>& output,
                                 const GradcheckOptions& options) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Tensor> parameters = module.parameters();
  if (parameters.empty()) {
    return {"the module has no parameters; name them with parameter(), and its parts with child()", infinity};
  }
  for (const auto& [name, parameter] : module.state_dict()) {
    if (parameter.requires_grad() && parameter.dtype() != DType::f64) {
      fail("check_parameters: ", name, " is ", parameter.dtype(),
           "; differences need f64: make the module with DType::f64");
    }
  }
  auto name_of = [&](const Tensor& parameter) {
    return std::ranges::find_if(module.state_dict(), [&](const auto& state) { return state.second.same(parameter); })
        ->first;
  };
  {
    Tape tape;
    const Tensor loss = loss_of(parameters, output, options.seed);
    for (const Tensor& leaf : tape.leaves()) {
      if (std::ranges::any_of(parameters, [&](const Tensor& parameter) { return parameter.same(leaf); })) continue;
      return {text("a leaf of the shape ", leaf.shape(),
                   " requires a gradient, and is no parameter of the module; name it with parameter(), or its part "
                   "with child(); an input should be detached"),
              infinity};
    }
    const std::vector<Tensor> gradients = tape.gradients(loss, parameters);
    if (const auto n = spoilt_by_backward(tape, loss, parameters, gradients, options)) {
      return {text(name_of(parameters[*n]), ": ", spoilt_gradient), infinity};
    }
  }
  GradcheckResult result;
  for (const Tensor& parameter : parameters) {
    if (parameter.numel() == 0) continue;
    const auto [problem, worst] = check_parameter(parameter, output, options);
    if (!problem.empty() && result.problem.empty()) result.problem = text(name_of(parameter), ": ", problem);
    if (std::isnan(worst) || worst > result.worst) result.worst = worst;
  }
  return result;
}

}  // namespace reel::nn
