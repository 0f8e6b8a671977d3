#include "autograd/kernels/layer_norm.h"

#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// The derivative with respect to x, composed: with x̂ = (x - mean) rstd and dx̂ = dy weight,
/// dx = rstd (dx̂ - mean(dx̂) - x̂ mean(dx̂ x̂)). For second derivatives.
void composed_backward(const Tensor& x, const Tensor& weight, double epsilon, const Tensor& dy, Grads& grads) {
  auto row_mean = [](const Tensor& values) { return mean(values, {-1}, KeepDim::yes); };
  const Tensor centered = x - row_mean(x);
  const Tensor rstd = pow(row_mean(centered * centered) + epsilon, -0.5);
  const Tensor xhat = centered * rstd;
  const Tensor dxhat = weight.defined() ? dy * weight : dy;
  grads.add(0, rstd * (dxhat - row_mean(dxhat) - xhat * row_mean(dxhat * xhat)));
  if (weight.defined()) {
    grads.add(1, dy * xhat);
    grads.add(2, dy);
  }
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  if (x.rank() == 0) fail("layer_norm: x has no axis to normalize over");
  if (weight.defined() != bias.defined()) fail("layer_norm: give both weight and bias, or neither");
  const int64_t n = x.size(-1), rows = n == 0 ? 0 : x.numel() / n;
  if (weight.defined()) {
    for (const Tensor& parameter : {weight, bias}) {
      if (parameter.shape() != Shape{n}) {
        fail("layer_norm: weight or bias is ", parameter.shape(), ", the last axis of x ", x.shape(), " has ", n);
      }
      check_same_dtype("layer_norm", x, parameter);
    }
  }

  const Tensor values = dense(x), scale = weight.defined() ? dense(weight) : weight,
               shift = bias.defined() ? dense(bias) : bias;
  Tensor y(x.shape(), x.dtype()), means({rows}, x.dtype()), rstds({rows}, x.dtype());
  with_type(x.dtype(), [&]<class T>(T) {
    kernels::layer_norm(rows, n, values.data<T>(), scale.defined() ? scale.data<T>() : nullptr,
                        shift.defined() ? shift.data<T>() : nullptr, static_cast<T>(epsilon), y.data<T>(),
                        means.data<T>(), rstds.data<T>());
  });

  auto backward = [x, values, weight, scale, means, rstds, rows, n, epsilon](const Tensor& dy, Grads& grads) {
    if (Tape::recording()) return composed_backward(x, weight, epsilon, dy, grads);
    const Tensor gradient = dense(dy);
    const int64_t pieces = weight.defined() ? kernels::layer_norm_pieces(rows) : 0;
    Tensor dx(dy.shape(), dy.dtype()), dweight({pieces, n}, dy.dtype()), dbias({pieces, n}, dy.dtype());
    with_type(dy.dtype(), [&]<class T>(T) {
      kernels::layer_norm_backward(rows, n, values.data<T>(), scale.defined() ? scale.data<T>() : nullptr,
                                   means.data<T>(), rstds.data<T>(), gradient.data<T>(), dx.data<T>(),
                                   dweight.data<T>(), dbias.data<T>());
    });
    grads.add(0, dx);
    if (weight.defined()) {
      grads.add(1, sum(dweight, {0}));
      grads.add(2, sum(dbias, {0}));
    }
  };
  return weight.defined() ? record("layer_norm", {x, weight, bias}, y, backward)
                          : record("layer_norm", {x}, y, backward);
}

}  // namespace reel
