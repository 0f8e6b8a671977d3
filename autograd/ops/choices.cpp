#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "autograd/tape.h"

namespace reel {

using kernels::select;
using kernels::splat;

namespace {

/// 1 where test(a, b), 0 elsewhere.
template <class Test>
Ids compare(const char* operation, const Tensor& a, const Tensor& b, Test test) {
  auto one_or_zero = [test](auto u, auto v) {
    using T = typename decltype(u)::value_type;
    return select(test(u, v), splat(T(1)), splat(T(0)));
  };
  const Tensor truth = map(operation, one_or_zero, a, b);
  std::vector<std::int32_t> result;
  with_type(truth.dtype(), [&]<class T>(T) { result.assign(truth.data<T>(), truth.data<T>() + truth.numel()); });
  return Ids(truth.shape(), std::move(result));
}

enum class Kept { above, below };

/// y = x on one side of a diagonal of the last two axes and on it, 0 on the other side; dx is the same of dy
Tensor triangle(const char* operation, const Tensor& x, int64_t diagonal, Kept kept) {
  if (x.rank() < 2) fail(operation, ": need at least two axes, x is ", x.shape());
  const int64_t rows = x.size(-2), columns = x.size(-1);
  diagonal = std::clamp(diagonal, -rows, columns);  // those further out show no more
  const Tensor y = copy_of(x);
  with_type(y.dtype(), [&]<class T>(T) {
    T* row = y.data<T>();
    for (int64_t i = 0; i < y.numel() / std::max<int64_t>(columns, 1); ++i, row += columns) {
      const int64_t on_diagonal = i % rows + diagonal;
      if (kept == Kept::above) {
        std::fill(row, row + std::clamp<int64_t>(on_diagonal, 0, columns), T(0));
      } else {
        std::fill(row + std::clamp<int64_t>(on_diagonal + 1, 0, columns), row + columns, T(0));
      }
    }
  });
  return record(operation, {x}, y, [operation, diagonal, kept](const Tensor& dy, Grads& grads) {
    grads.add(0, triangle(operation, dy, diagonal, kept));
  });
}

}  // namespace

Ids gt(const Tensor& a, const Tensor& b) { return compare("gt", a, b, std::greater{}); }

Ids eq(const Tensor& a, const Tensor& b) { return compare("eq", a, b, std::equal_to{}); }

/// c = condition ? a : b          da = condition ? dc : 0          db = condition ? 0 : dc
Tensor where(const Ids& condition, const Tensor& a, const Tensor& b) {
  check_same_dtype("where", a, b);
  Tensor c(broadcast("where", condition.shape(), broadcast("where", a.shape(), b.shape())), a.dtype());
  with_type(c.dtype(), [&]<class T>(T) {
    const Strides of_condition = broadcast_strides(condition.shape(), contiguous_strides(condition.shape()), c.shape());
    auto choose = [](auto test, auto u, auto v) { return select(test != splat(T(0)), u, v); };
    kernels::map(c.shape(), c.data<T>(), c.strides(), choose,
                 kernels::Operand<std::int32_t>{condition.data(), of_condition}, Repeated(a, c.shape()).as<T>(),
                 Repeated(b, c.shape()).as<T>());
  });
  return record("where", {a, b}, c, [condition = condition](const Tensor& dc, Grads& grads) {
    const Tensor zero = scalar(0, dc.dtype());
    if (grads.needs(0)) grads.add(0, where(condition, dc, zero));
    if (grads.needs(1)) grads.add(1, where(condition, zero, dc));
  });
}

Tensor masked_fill(const Tensor& x, const Ids& mask, double value) {
  if (!broadcasts_to(mask.shape(), x.shape())) {
    fail("masked_fill: the mask ", mask.shape(), " does not broadcast to x ", x.shape());
  }
  return where(mask, scalar(value, x.dtype()), x);
}

Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", x, diagonal, Kept::above); }

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", x, diagonal, Kept::below); }

}  // namespace reel
