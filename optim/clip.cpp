#include "optim/clip.h"

#include <cmath>
#include <limits>

#include "autograd/error.h"
#include "autograd/kernels/updates.h"
#include "autograd/row_gradient.h"

namespace reel::optim {
namespace {

/// The numbers of a gradient, but for rows that are 0 throughout; undefined if there is none.
Tensor numbers_of(const Tensor& parameter) {
  const RowGradient* rows = parameter.row_grad();
  return rows ? rows->values : parameter.grad();
}

/// In two steps where the factor by itself would be flushed to 0.
template <class T>
void scale(const Tensor& gradient, double factor) {
  constexpr double least = std::numeric_limits<T>::min();
  if (factor < least) {
    kernels::scale(gradient.numel(), gradient.data<T>(), static_cast<T>(least));
    factor /= least;
  }
  kernels::scale(gradient.numel(), gradient.data<T>(), static_cast<T>(factor));
}

}  // namespace

double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm) {
  if (!(max_norm > 0)) fail("clip_grad_norm: max_norm is ", max_norm, "; need max_norm > 0");
  double squares = 0;
  for (const Tensor& parameter : parameters) {
    if (const Tensor gradient = numbers_of(parameter); gradient.defined()) {
      squares += with_type(gradient.dtype(),
                           [&]<class T>(T) { return kernels::sum_of_squares(gradient.numel(), gradient.data<T>()); });
    }
  }
  const double norm = std::sqrt(squares);
  const double factor = max_norm / (norm + 1e-6);  // PyTorch's
  if (std::isfinite(norm) && factor < 1) scale_grads(parameters, factor);
  return norm;
}

void scale_grads(const std::vector<Tensor>& parameters, double factor) {
  if (!(factor > 0)) fail("scale_grads: the factor is ", factor, "; need factor > 0");
  for (const Tensor& parameter : parameters) {
    if (const Tensor gradient = numbers_of(parameter); gradient.defined()) {
      with_type(gradient.dtype(), [&]<class T>(T) { scale<T>(gradient, factor); });
      gradient.mark_written();
    }
  }
}

}  // namespace reel::optim
