#include <algorithm>
#include <numeric>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/kernels/reduce.h"
#include "autograd/ops.h"
#include "autograd/ops/folded.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// The axes from the front, sorted, each once.
std::vector<int> normal_axes(const char* operation, std::vector<int> axes, int rank) {
  for (int& axis : axes) axis = normal_axis(operation, axis, rank);
  std::sort(axes.begin(), axes.end());
  const auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice != axes.end()) {
    fail(operation, ": axis ", *twice, " is named twice; counted from the end, it is axis ", *twice - rank);
  }
  return axes;
}

std::vector<int> all_axes(const Tensor& x) {
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Shape with_ones(Shape shape, const std::vector<int>& axes) {
  for (int axis : axes) shape[axis] = 1;
  return shape;
}

Shape without(Shape shape, const std::vector<int>& axes) {
  for (std::size_t i = axes.size(); i-- > 0;) shape.erase(axes[i]);
  return shape;
}

/// The sum over sorted axes, kept as size 1: one run of neighbouring axes after another, from the last.
Tensor sum_kept(Tensor x, const std::vector<int>& axes) {
  x = axes.empty() ? copy_of(x) : contiguous_values(x);  // a result has memory of its own
  for (std::size_t end = axes.size(); end > 0;) {
    std::size_t begin = end - 1;
    while (begin > 0 && axes[begin - 1] == axes[begin] - 1) --begin;
    const std::vector<int> run(axes.begin() + static_cast<std::ptrdiff_t>(begin),
                               axes.begin() + static_cast<std::ptrdiff_t>(end));
    const Folded folded(x.shape(), run.front(), run.back());
    Tensor result(with_ones(x.shape(), run), x.dtype());
    with_type(x.dtype(), [&]<class T>(T) {
      kernels::sum(folded.outer, folded.count, folded.inner, x.data<T>(), result.data<T>());
    });
    x = result;
    end = begin;
  }
  return x;
}

/// Over how many elements of x one element of the result goes.
double count_over(const Tensor& x, const std::vector<int>& axes) {
  double count = 1;
  for (int axis : axes) count *= static_cast<double>(x.size(axis));
  return count;
}

/// Throws unless ids can say where on the axis the largest element is.
void check_searchable(const char* operation, const Tensor& x, int axis) {
  if (x.size(axis) == 0) fail(operation, ": axis ", axis, " of ", x.shape(), " is empty; there is no largest element");
  if (x.size(axis) > most_ids) {
    fail(operation, ": axis ", axis, " of ", x.shape(), " is too long; ids can tell ", most_ids, " places apart");
  }
}

}  // namespace

Tensor sum(const Tensor& x) { return sum(x, all_axes(x)); }

/// y = Σ x            dx = dy, repeated along the summed axes
Tensor sum(const Tensor& x, const std::vector<int>& some_axes, KeepDim keep) {
  const std::vector<int> axes = normal_axes("sum", some_axes, x.rank());
  const Shape shape = x.shape(), kept = with_ones(shape, axes);
  Tensor y = sum_kept(x, axes);
  if (keep == KeepDim::no) y = Tensor(y, without(shape, axes), contiguous_strides(without(shape, axes)));
  return record("sum", {x}, y,
                [shape, kept](const Tensor& dy, Grads& grads) { grads.add(0, expand(reshape(dy, kept), shape)); });
}

Tensor mean(const Tensor& x) { return mean(x, all_axes(x)); }

Tensor mean(const Tensor& x, const std::vector<int>& some_axes, KeepDim keep) {
  const std::vector<int> axes = normal_axes("mean", some_axes, x.rank());
  return sum(x, axes, keep) / count_over(x, axes);
}

Tensor var(const Tensor& x, const std::vector<int>& some_axes, int correction, KeepDim keep) {
  const std::vector<int> axes = normal_axes("var", some_axes, x.rank());
  auto centred = [&](const Tensor& values) { return values - mean(values, axes, KeepDim::yes); };
  const Tensor deviation = centred(centred(x));  // the mean of large numbers is rounded: once more removes that error
  return sum(deviation * deviation, axes, keep) / std::max(0.0, count_over(x, axes) - correction);
}

Max max(const Tensor& x, int some_axis) {
  const int axis = normal_axis("max", some_axis, x.rank());
  check_searchable("max", x, axis);
  const Ids indices = argmax(x, axis);
  return {squeeze(gather(x, axis, indices.unsqueeze(axis)), axis), indices};
}

Ids argmax(const Tensor& x, int some_axis) {
  const int axis = normal_axis("argmax", some_axis, x.rank());
  check_searchable("argmax", x, axis);
  const Folded folded(x.shape(), axis, axis);
  const Tensor values = contiguous_values(x);
  Ids result = Ids::zeros(without(x.shape(), {axis}));
  with_type(x.dtype(), [&]<class T>(T) {
    kernels::argmax(folded.outer, folded.count, folded.inner, values.data<T>(), result.data());
  });
  return result;
}

}  // namespace reel
