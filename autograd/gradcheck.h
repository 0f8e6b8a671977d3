#pragma once
// Gradient check: does the derivative that an operation states agree with the one that its values show?
//
// For y = f(x) and a random cotangent v, the tape's gradient of Σ v y is compared with central differences
// (Σ v f(x + h) - Σ v f(x - h)) / 2h, in f64 and element by element:
//
//     CHECK(gradcheck([](const auto& x) { return tanh(x[0]) * x[1]; }, {a, b}));

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autograd/tensor.h"

namespace reel {

class Tape;

struct GradcheckOptions {
  double step = 1e-6;      // h, for inputs of about 1
  double relative = 1e-6;  // the difference may be this share of the gradient,
  double floor = 1e-7;     // plus this
  std::uint64_t seed = 1;  // of the cotangent
};

/// What a check found; true in a condition if the gradients agree, those that backward() finds with those of
/// gradients(), too.
struct GradcheckResult {
  std::string problem;  // which element of which input, and both values; empty if there is none
  double worst = 0;     // the largest difference, as a share of what was allowed
  explicit operator bool() const { return problem.empty(); }
};

using Differentiable = std::function<Tensor(const std::vector<Tensor>& inputs)>;

/// Checks the gradients of all inputs of f, which must use the copies that it is given: a layer's parameters are
/// checked by check_parameters (nn/gradcheck.h). Throws unless inputs are f64, finite, and of one element or
/// more; they should be away from kinks. It is a problem if f gives another result each time, or if a gradient is zero
/// in every element: such a check would pass whatever f does.
GradcheckResult gradcheck(const Differentiable& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// The same for second derivatives: checks the gradients of Σ u df/dx, recorded with CreateGraph::yes. Where f is
/// linear in an input, or made of straight pieces as relu is, these are zero: check f(x)³ in its place.
GradcheckResult gradgradcheck(const Differentiable& f, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options = {});

/// The part of these checks that training needs: runs tape.backward(loss), where derivatives may write over memory, and
/// returns the first of `leaves` for which that finds another gradient than tape.gradients(loss, leaves) did, which
/// were `gradients`. The loss must depend on all of them. In the end, leaves have the gradients again that they had.
std::optional<std::size_t> spoilt_by_backward(Tape& tape, const Tensor& loss, const std::vector<Tensor>& leaves,
                                              const std::vector<Tensor>& gradients,
                                              const GradcheckOptions& options = {});

/// What to say of it.
inline constexpr const char* spoilt_gradient =
    "backward() finds another gradient than gradients(), where nothing is written over; does the derivative read a "
    "tensor after it may have been?";

}  // namespace reel
