#include "autograd/ops/dropout.h"

#include <utility>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// y may be x, if that is contiguous.
void drop(const Tensor& x, const Tensor& y, double p, const Generator::State& start) {
  const Tensor values = contiguous_values(x);
  with_type(x.dtype(),
            [&]<class T>(T) { kernels::dropout(x.numel(), values.data<T>(), y.data<T>(), dropout_mask(p, start)); });
}

/// y = x m, m = 0 with probability p, else 1 / (1 - p), as dropout_mask() rounds p          dx = dy m
/// The mask m is a function of `start`: the backward pass draws it again instead of keeping it.
Tensor dropout_from(const Tensor& x, double p, const Generator::State& start) {
  const Tensor y(x.shape(), x.dtype());
  drop(x, y, p, start);
  return record("dropout", {x}, y, [p, start](const Tensor& dy, Grads& grads) {
    if (Tape::recording()) return grads.add(0, dropout_from(dy, p, start));
    Tensor dx = grads.in_place_of(dy);
    drop(dy, dx, p, start);
    grads.add(0, std::move(dx));
  });
}

/// p = 1 leaves zeros, even of what is infinite.
Tensor all_dropped(const Tensor& x) {
  return record("dropout", {x}, zeros(x.shape(), x.dtype()),
                [](const Tensor& dy, Grads& grads) { grads.add(0, all_dropped(dy)); });
}

}  // namespace

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  if (!(p >= 0 && p <= 1)) fail("dropout: p is ", p, "; need 0 <= p <= 1");
  if (p == 0) return x;
  const Generator::State start = generator.reserve(static_cast<std::uint64_t>(x.numel()));
  return p == 1 ? all_dropped(x) : dropout_from(x, p, start);
}

}  // namespace reel
