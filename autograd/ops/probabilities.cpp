#include <algorithm>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/kernels/softmax.h"
#include "autograd/ops.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// kernel(rows, n, x, y) along any axis: the last one in place, others by way of a transposed view.
template <class Kernel>
Tensor along_axis(const Tensor& x, int axis, const Kernel& kernel) {
  const Tensor rows = dense(transpose(detach(x), axis, -1));
  Tensor result(rows.shape(), rows.dtype());
  const int64_t n = rows.size(-1);
  with_type(x.dtype(), [&]<class T>(T) {
    if (n > 0) kernel(rows.numel() / n, n, rows.data<T>(), result.data<T>());
  });
  return dense(transpose(result, axis, -1));
}

}  // namespace

/// y = e^x / Σ e^x          dx = y (dy - Σ dy y)
Tensor softmax(const Tensor& x, int some_axis) {
  const int axis = normal_axis("softmax", some_axis, x.rank());
  Tensor y = along_axis(x, axis, [](auto... arguments) { kernels::softmax(arguments...); });
  return record("softmax", {x}, y, [y, axis](const Tensor& dy, Grads& grads) {
    grads.add(0, y * (dy - sum(dy * y, {axis}, KeepDim::yes)));
  });
}

/// y = x - log Σ e^x        dx = dy - e^y Σ dy
Tensor log_softmax(const Tensor& x, int some_axis) {
  const int axis = normal_axis("log_softmax", some_axis, x.rank());
  Tensor y = along_axis(x, axis, [](auto... arguments) { kernels::log_softmax(arguments...); });
  return record("log_softmax", {x}, y, [y, axis](const Tensor& dy, Grads& grads) {
    grads.add(0, dy - exp(y) * sum(dy, {axis}, KeepDim::yes));
  });
}

Tensor nll_loss(const Tensor& log_probs, const Ids& targets, const LossOptions& options) {
  const double smoothing = options.label_smoothing;
  Shape leading = log_probs.shape();
  if (log_probs.rank() > 0) leading.erase(log_probs.rank() - 1);
  if (log_probs.rank() == 0 || targets.shape() != leading) {
    fail("nll_loss: log_probs is ", log_probs.shape(), ", targets are ", targets.shape(),
         "; need (..., classes) and one target for each row of classes");
  }
  if (!(smoothing >= 0 && smoothing <= 1)) fail("nll_loss: label_smoothing is ", smoothing, "; need 0 to 1");

  // An ignored target points at class 0, and what it finds there is not counted.
  Ids picked = Ids::zeros(targets.shape()), counted = Ids::zeros(targets.shape());
  int64_t count = 0;
  for (std::size_t i = 0; i < targets.values().size(); ++i) {
    const std::int32_t target = targets.values()[i];
    if (target == options.ignore_index) continue;
    if (target < 0 || target >= log_probs.size(-1)) {
      fail("nll_loss: the target ", target, " is outside 0 .. ", log_probs.size(-1) - 1, " and not the ignored ",
           options.ignore_index);
    }
    picked.values()[i] = target;
    counted.values()[i] = 1;
    ++count;
  }
  const Tensor zero = scalar(0, log_probs.dtype());
  Tensor gain = gather(log_probs, -1, picked);
  if (smoothing > 0) gain = gain * (1 - smoothing) + mean(log_probs, {-1}) * smoothing;
  return sum(where(counted, gain, zero)) * (-1.0 / static_cast<double>(std::max<int64_t>(count, 1)));
}

Tensor cross_entropy(const Tensor& logits, const Ids& targets, const LossOptions& options) {
  return nll_loss(log_softmax(logits, -1), targets, options);
}

}  // namespace reel
