#include "autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <optional>
#include <utility>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// What the two checks say differently.
struct Wording {
  const char* name;
  const char* if_zero;
};
constexpr Wording first_order{"gradcheck", "does the result depend on this very tensor?"};
constexpr Wording second_order{
    "gradgradcheck",
    "is f linear in this tensor, near here at least? Then check its cube. Or does it not depend on it?"};

/// Contiguous copies of the inputs that ask for gradients.
std::vector<Tensor> leaves_of(const std::vector<Tensor>& inputs, const char* name) {
  std::vector<Tensor> leaves;
  if (inputs.empty()) fail(name, ": there are no inputs; need one at least");
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    const Tensor& input = inputs[n];
    if (input.dtype() != DType::f64) fail(name, ": input ", n, " is f32; differences need f64");
    if (input.numel() == 0) fail(name, ": input ", n, " is ", input.shape(), ", without an element to check");
    for (const double x : input.to_vector()) {
      if (!std::isfinite(x)) fail(name, ": input ", n, " ", input.shape(), " holds ", x, "; need finite numbers");
    }
    leaves.push_back(copy_of(input).set_requires_grad());
  }
  return leaves;
}

Tensor seeded_randn(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return randn(shape, DType::f64, generator);
}

/// Σ y w. Each input is added zero times, so that this is recorded even if y does not depend on them.
Tensor weighted_sum(const Tensor& y, const Tensor& w, const std::vector<Tensor>& inputs) {
  Tensor total = sum(y * w);
  for (const Tensor& x : inputs) total = total + sum(x * 0.0);
  return total;
}

/// In the end, puts back the gradients that these leaves have now.
class KeptGradients {
 public:
  explicit KeptGradients(std::vector<Tensor> leaves) : leaves_(std::move(leaves)) {
    for (const Tensor& leaf : leaves_) before_.push_back(leaf.grad());
  }
  ~KeptGradients() {
    for (std::size_t n = 0; n < leaves_.size(); ++n) leaves_[n].set_grad(before_[n]);
  }
  KeptGradients(const KeptGradients&) = delete;
  KeptGradients& operator=(const KeptGradients&) = delete;

 private:
  std::vector<Tensor> leaves_, before_;
};

/// Whether both are the same but for rounding; NaN is the same as NaN.
bool agree(const Tensor& a, const Tensor& b, const GradcheckOptions& options) {
  const std::vector<double> u = a.to_vector(), v = b.to_vector();
  return std::ranges::equal(u, v, [&](double x, double y) {
    return std::abs(x - y) <= options.floor + options.relative * std::abs(y) || (std::isnan(x) && std::isnan(y)) ||
           x == y;
  });
}

GradcheckResult check(const Wording& wording, const Differentiable& f, const std::vector<Tensor>& inputs,
                      const GradcheckOptions& options) {
  std::vector<Tensor> leaves = leaves_of(inputs, wording.name);
  Tensor cotangent;
  std::vector<Tensor> gradients;
  std::optional<std::size_t> spoilt;
  {
    Tape tape;
    const Tensor y = f(leaves);
    cotangent = seeded_randn(y.shape(), options.seed);
    const Tensor loss = weighted_sum(y, cotangent, leaves);
    gradients = tape.gradients(loss, leaves);
    spoilt = spoilt_by_backward(tape, loss, leaves, gradients, options);
  }
  auto value = [&] { return sum(f(leaves) * cotangent).item(); };

  GradcheckResult result;
  if (spoilt) {
    result.problem = text("input ", *spoilt, " ", inputs[*spoilt].shape(), ": ", spoilt_gradient);
    result.worst = std::numeric_limits<double>::infinity();
    return result;
  }
  const double at_inputs = value(), again = value();
  if (!std::isfinite(at_inputs) || again != at_inputs) {
    result.problem =
        std::isfinite(at_inputs)
            ? text("f is not the same function each time: a weighted sum of its result is ", std::setprecision(17),
                   at_inputs, ", then ", again, "; a random one must begin with the same generator")
            : text("a weighted sum of f's result is ", at_inputs, " here, and has no derivative");
    result.worst = std::numeric_limits<double>::infinity();
    return result;
  }
  for (std::size_t n = 0; n < leaves.size(); ++n) {
    double* x = leaves[n].data<double>();
    const std::vector<double> stated = gradients[n].to_vector();
    bool all_zero = true;
    for (std::size_t i = 0; i < stated.size(); ++i) {
      const double before = x[i], h = options.step * std::max(1.0, std::abs(before));
      x[i] = before + h;
      const double above = value();
      x[i] = before - h;
      const double below = value();
      x[i] = before;
      const double measured = (above - below) / (2 * h), difference = std::abs(stated[i] - measured);
      const double share = difference / (options.floor + options.relative * std::abs(measured));
      all_zero = all_zero && stated[i] == 0 && std::abs(measured) <= options.floor;
      if (!(share <= 1) && result.problem.empty()) {
        result.problem = text("input ", n, " ", inputs[n].shape(), ", element ", i, std::setprecision(10),
                              ": the derivative says ", stated[i], ", differences say ", measured);
      }
      if (std::isnan(share) || share > result.worst) result.worst = share;  // NaN is the worst: nothing is greater
    }
    if (all_zero && result.problem.empty()) {
      result.problem = text("input ", n, " ", inputs[n].shape(),
                            ": the whole gradient is zero, so nothing was checked; ", wording.if_zero);
    }
  }
  return result;
}

}  // namespace

std::optional<std::size_t> spoilt_by_backward(Tape& tape, const Tensor& loss, const std::vector<Tensor>& leaves,
                                              const std::vector<Tensor>& gradients, const GradcheckOptions& options) {
  const KeptGradients kept(tape.leaves());
  for (const Tensor& leaf : leaves) leaf.zero_grad();
  tape.backward(loss);
  for (std::size_t n = 0; n < leaves.size(); ++n) {
    if (!agree(leaves[n].grad(), gradients[n], options)) return n;
  }
  return std::nullopt;
}

GradcheckResult gradcheck(const Differentiable& f, const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
  return check(first_order, f, inputs, options);
}

GradcheckResult gradgradcheck(const Differentiable& f, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options) {
  auto gradient = [&](const std::vector<Tensor>& x) {
    // Within a check the tape is there already; for the plain values that differences are made of, it is made here.
    std::optional<Tape> own;
    Tape* tape = Tape::recording();
    if (!tape) tape = &own.emplace();
    const Tensor y = f(x);
    const Tensor loss = weighted_sum(y, seeded_randn(y.shape(), options.seed + 1), x);
    std::vector<Tensor> flat;
    for (const Tensor& dx : tape->gradients(loss, x, CreateGraph::yes)) flat.push_back(reshape(dx, {-1}));
    return cat(flat, 0);
  };
  return check(second_order, gradient, inputs, options);
}

}  // namespace reel
