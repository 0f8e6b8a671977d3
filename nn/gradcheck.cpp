#include "nn/gradcheck.h"

#include <algorithm>
#include <limits>

#include "autograd/creation.h"
#include "autograd/ops.h"
#include "autograd/tape.h"

namespace reel::nn {
namespace {

/// What is wrong with the names of parameters, if anything is.
std::string problem_of_names(const std::vector<Tensor>& parameters, const std::function<Tensor()>& output) {
  if (parameters.empty()) return "the module has no parameters; name them with parameter(), and its parts with child()";
  Tape tape;
  output();
  for (const Tensor& leaf : tape.leaves()) {
    if (std::ranges::none_of(parameters, [&](const Tensor& parameter) { return parameter.same(leaf); })) {
      return text("a leaf of the shape ", leaf.shape(),
                  " requires a gradient, and is no parameter of the module; name it with parameter(), or its part with "
                  "child()");
    }
  }
  return "";
}

}  // namespace

// A module reads its own parameters, not a function's arguments. So the function that is checked writes its arguments x
// into the parameters p and returns L + Σ dL/dp (x - p), whose value is L and whose gradient is the tape's dL/dp.
GradcheckResult check_parameters(const Module& module, const std::function<Tensor()>& output,
                                 const GradcheckOptions& options) {
  const std::vector<Tensor> parameters = module.parameters();
  if (const std::string problem = problem_of_names(parameters, output); !problem.empty()) {
    return {problem, std::numeric_limits<double>::infinity()};
  }
  auto loss = [&](const std::vector<Tensor>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) copy(x[i], parameters[i]);
    const Tensor y = output();
    Generator generator(options.seed + 1);
    const Tensor value = sum(y * randn(y.shape(), y.dtype(), generator));
    Tape* tape = Tape::recording();
    if (!tape) return value;
    const std::vector<Tensor> gradients = tape->gradients(value, parameters);
    Tensor result = detach(value);
    for (std::size_t i = 0; i < x.size(); ++i) result = result + sum(gradients[i] * (x[i] - detach(x[i])));
    return result;
  };
  std::vector<Tensor> before;
  for (const Tensor& parameter : parameters) before.push_back(copy_of(parameter));
  GradcheckResult result = gradcheck(loss, parameters, options);
  for (std::size_t i = 0; i < before.size(); ++i) copy(before[i], parameters[i]);
  return result;
}

}  // namespace reel::nn
