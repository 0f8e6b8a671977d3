#include <algorithm>
#include <utility>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/kernels/cross_entropy.h"
#include "autograd/kernels/softmax.h"
#include "autograd/ops.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// kernel(rows, n, the tensors' rows along `axis` ..., those of the result): the last axis in place, others by way of a
/// transposed view. All tensors have one shape.
template <class Kernel, class... Tensors>
Tensor along_axis(int axis, const Kernel& kernel, const Tensor& x, const Tensors&... others) {
  auto as_rows = [&](const Tensor& tensor) { return contiguous_values(transpose(detach(tensor), axis, -1)); };
  const Tensor rows = as_rows(x);
  Tensor result(rows.shape(), rows.dtype());
  const int64_t n = rows.size(-1);
  with_type(x.dtype(), [&]<class T>(T) {
    if (n > 0) kernel(rows.numel() / n, n, rows.data<T>(), as_rows(others).template data<T>()..., result.data<T>());
  });
  return contiguous_values(transpose(result, axis, -1));
}

}  // namespace

/// y = e^x / Σ e^x          dx = y (dy - Σ dy y)
Tensor softmax(const Tensor& x, int some_axis) {
  const int axis = normal_axis("softmax", some_axis, x.rank());
  Tensor y = along_axis(
      axis, [](auto... arguments) { kernels::softmax(arguments...); }, x);
  return record("softmax", {x}, y, [y, axis](const Tensor& dy, Grads& grads) {
    if (Tape::recording()) return grads.add(0, y * (dy - sum(dy * y, {axis}, KeepDim::yes)));
    grads.add(0, along_axis(
                     axis, [](auto... arguments) { kernels::softmax_backward(arguments...); }, y, dy));
  });
}

/// y = x - log Σ e^x        dx = dy - e^y Σ dy
Tensor log_softmax(const Tensor& x, int some_axis) {
  const int axis = normal_axis("log_softmax", some_axis, x.rank());
  Tensor y = along_axis(
      axis, [](auto... arguments) { kernels::log_softmax(arguments...); }, x);
  return record("log_softmax", {x}, y, [y, axis](const Tensor& dy, Grads& grads) {
    if (Tape::recording()) return grads.add(0, dy - exp(y) * sum(dy, {axis}, KeepDim::yes));
    grads.add(0, along_axis(
                     axis, [](auto... arguments) { kernels::log_softmax_backward(arguments...); }, y, dy));
  });
}

namespace {

/// Where to look in each row of classes, what of it counts, and how often.
struct Targets {
  Ids picked, counted;  // an ignored target points at class 0, and what is found there is not counted
  int64_t count = 0;

  Targets(const char* operation, const char* name, const Tensor& x, const Ids& targets, const LossOptions& options)
      : picked(Ids::zeros(targets.shape())), counted(Ids::zeros(targets.shape())) {
    if (x.rank() == 0 || leading(x.shape(), 1) != targets.shape()) {
      fail(operation, ": ", name, " is ", x.shape(), ", targets are ", targets.shape(),
           "; need (..., classes) and one target for each row of classes");
    }
    if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
      fail(operation, ": label_smoothing is ", options.label_smoothing, "; need 0 to 1");
    }
    for (std::size_t i = 0; i < targets.values().size(); ++i) {
      const std::int32_t target = targets.values()[i];
      if (target == options.ignore_index) continue;
      if (target < 0 || target >= x.size(-1)) {
        fail(operation, ": the target ", target, " is none of ", x.size(-1), " classes and not the ignored ",
             options.ignore_index);
      }
      picked.values()[i] = target;
      counted.values()[i] = 1;
      ++count;
    }
  }

  double share() const { return 1.0 / static_cast<double>(std::max<int64_t>(count, 1)); }
};

}  // namespace

Tensor nll_loss(const Tensor& log_probs, const Ids& targets, const LossOptions& options) {
  const Targets t("nll_loss", "log_probs", log_probs, targets, options);
  const double smoothing = options.label_smoothing;
  const bool no_classes = log_probs.size(-1) == 0;  // and so no target that counts
  Tensor gain = no_classes ? sum(log_probs, {-1}) : squeeze(gather(log_probs, -1, t.picked.unsqueeze(-1)), -1);
  if (smoothing > 0) gain = gain * (1 - smoothing) + mean(log_probs, {-1}) * smoothing;
  return 0.0 - sum(where(t.counted, gain, scalar(0, log_probs.dtype()))) * t.share();  // not -0 if none counts
}

/// loss = mean of -Σ q log p, p = softmax(x)          dx = dloss (p - q) / count,    q as in kernels/cross_entropy.h
Tensor cross_entropy(const Tensor& logits, const Ids& targets, const LossOptions& options) {
  const Targets t("cross_entropy", "logits", logits, targets, options);
  const double smoothing = options.label_smoothing;
  const Tensor x = contiguous_values(logits), losses(targets.shape(), x.dtype());
  const int64_t classes = x.size(-1), rows = targets.numel();
  Shape pair = targets.shape();
  pair.append(2);
  const Tensor row_stats(pair, x.dtype());  // the largest logit of each row, and the inverse sum of exponentials
  with_type(x.dtype(), [&]<class T>(T) {
    kernels::cross_entropy(rows, classes, x.data<T>(), t.picked.data(), t.counted.data(), static_cast<T>(smoothing),
                           losses.data<T>(), row_stats.data<T>());
  });
  auto backward = [logits, t, smoothing, row_stats, rows, classes](const Tensor& dloss, Grads& grads) {
    const DType dtype = logits.dtype();
    if (Tape::recording()) {
      if (classes == 0) return grads.add(0, logits * 0.0);  // no numbers, but a backward pass for them
      const Ids picked = t.picked.unsqueeze(-1);
      const Tensor q = scatter_add(expand(scalar(1 - smoothing, dtype), picked.shape()), -1, picked, classes) +
                       smoothing / static_cast<double>(classes);
      const Tensor counted = where(t.counted.unsqueeze(-1), softmax(logits, -1) - q, scalar(0, dtype));
      return grads.add(0, counted * t.share() * dloss);
    }
    // With many classes there is hardly anything larger than logits: their gradient takes their place, or that of a
    // contiguous copy.
    const bool in_place = !logits.is_contiguous() || grads.claim(logits);
    const Tensor from = contiguous_values(logits), dx = in_place ? from : Tensor(from.shape(), dtype);
    with_type(dtype, [&]<class T>(T) {
      kernels::cross_entropy_backward(rows, classes, from.data<T>(), t.picked.data(), t.counted.data(),
                                      static_cast<T>(smoothing), row_stats.data<T>(),
                                      static_cast<T>(dloss.item() * t.share()), dx.data<T>());
    });
    grads.add(0, dx);
  };
  return record("cross_entropy", {logits}, sum(losses) * t.share(), std::move(backward));
}

}  // namespace reel
