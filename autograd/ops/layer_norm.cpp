#include "autograd/kernels/layer_norm.h"

#include <cmath>
#include <utility>

#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"

namespace reel {
namespace {

Tensor contiguous_values_if_any(const Tensor& x) { return x.defined() ? contiguous_values(x) : x; }

template <class T>
const T* data_if_any(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

/// The derivatives, composed: with x̂ = (x - mean) rstd and dx̂ = dy weight,
/// dx = rstd (dx̂ - mean(dx̂) - x̂ mean(dx̂ x̂)), dweight = dy x̂, dbias = dy. For second derivatives.
void composed_backward(const Tensor& x, const Tensor& weight, double epsilon, const Tensor& dy, Grads& grads) {
  auto row_mean = [](const Tensor& values) { return mean(values, {-1}, KeepDim::yes); };
  const Tensor centered = x - row_mean(x), variance = row_mean(centered * centered);
  const Tensor rstd = pow(variance + epsilon, -0.5) + variance * 0.0;  // NaN where that is infinite
  const Tensor xhat = centered * rstd;
  const Tensor dxhat = weight.defined() ? dy * weight : dy;
  grads.add(0, rstd * (dxhat - row_mean(dxhat) - xhat * row_mean(dxhat * xhat)));
  if (weight.defined()) {
    grads.add(1, dy * xhat);
    grads.add(2, dy);
  }
}

}  // namespace

/// With x̂ = (x - mean) rstd: y = x̂ weight + bias + residual;
/// dx as above, dweight = Σ dy x̂, dbias = Σ dy over all rows, dresidual = dy
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon, const Tensor& residual) {
  if (!(epsilon >= 0 && std::isfinite(epsilon))) {
    fail("layer_norm: epsilon is ", epsilon, "; need a finite number >= 0");
  }
  if (x.rank() == 0) fail("layer_norm: x has no axis to normalize over");
  if (weight.defined() != bias.defined()) fail("layer_norm: give both weight and bias, or neither");
  const int64_t n = x.size(-1), rows = n == 0 ? 0 : x.numel() / n;
  if (weight.defined()) {
    for (const Tensor& parameter : {weight, bias}) {
      if (parameter.shape() != Shape{n}) {
        fail("layer_norm: weight is ", weight.shape(), ", bias ", bias.shape(), ", but the last axis of x ", x.shape(),
             " has ", n);
      }
      check_same_dtype("layer_norm", x, parameter);
    }
  }
  if (residual.defined()) {
    if (residual.shape() != x.shape()) fail("layer_norm: the residual is ", residual.shape(), ", x is ", x.shape());
    check_same_dtype("layer_norm", x, residual);
  }

  const Tensor values = contiguous_values(x), scale = contiguous_values_if_any(weight),
               shift = contiguous_values_if_any(bias), added = contiguous_values_if_any(residual);
  Tensor y(x.shape(), x.dtype()), means({rows}, x.dtype()), rstds({rows}, x.dtype());
  with_type(x.dtype(), [&]<class T>(T) {
    kernels::layer_norm(rows, n, values.data<T>(), data_if_any<T>(scale), data_if_any<T>(shift),
                        static_cast<T>(epsilon), data_if_any<T>(added), y.data<T>(), means.data<T>(), rstds.data<T>());
  });

  auto backward = [x, values, weight, scale, means, rstds, rows, n, epsilon](const Tensor& dy, Grads& grads) {
    grads.add(3, dy);
    if (Tape::recording()) return composed_backward(x, weight, epsilon, dy, grads);
    Tensor dx = grads.in_place_of(dy);
    const Tensor gradient = contiguous_values(dy), dweight({n}, dy.dtype()), dbias({n}, dy.dtype());
    with_type(dy.dtype(), [&]<class T>(T) {
      kernels::layer_norm_backward(rows, n, values.data<T>(), data_if_any<T>(scale), means.data<T>(), rstds.data<T>(),
                                   gradient.data<T>(), dx.data<T>(), dweight.data<T>(), dbias.data<T>());
    });
    grads.add(0, std::move(dx));
    grads.add(1, dweight);
    grads.add(2, dbias);
  };
  return record("layer_norm", {x, weight, bias, residual}, y, std::move(backward));
}

}  // namespace reel
