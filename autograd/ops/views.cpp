#include <algorithm>
#include <optional>

#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// The strides that show the same elements in the same order under another shape, if there are such. From the back:
/// old axes that step evenly form a run, and new axes must cut each run without remainder.
std::optional<Strides> view_strides(const Shape& from, const Strides& strides, const Shape& to) {
  if (numel(from) == 0) return contiguous_strides(to);
  Strides result = Strides::filled(to.rank(), 1);
  int old = from.rank() - 1, axis = to.rank() - 1;
  auto skip_ones = [&] {
    while (old >= 0 && from[old] == 1) --old;
  };
  for (skip_ones(); old >= 0;) {
    const int64_t base = strides[old];
    int64_t run = 1, placed = 1;
    do {
      run *= from[old--];
      skip_ones();
    } while (old >= 0 && strides[old] == run * base);
    while (axis >= 0 && (placed < run || to[axis] == 1)) {
      result[axis] = base * placed;
      placed *= to[axis--];
    }
    if (placed != run) return std::nullopt;
  }
  return result;
}

/// The elements of x under another shape, as a view.          dx = dy in x's shape
Tensor record_view(const Tensor& x, const Shape& shape, const Strides& strides) {
  return record("view", {x}, Tensor(x, shape, strides),
                [shape = x.shape()](const Tensor& dy, Grads& grads) { grads.add(0, reshape(dy, shape)); });
}

}  // namespace

/// dx = dy in x's shape
Tensor view(const Tensor& x, const Shape& wanted) {
  const Shape shape = complete("view", wanted, x.shape());
  const auto strides = view_strides(x.shape(), x.strides(), shape);
  if (!strides) {
    fail("view: ", x.shape(), " with the strides ", x.strides(), " cannot be seen as ", shape,
         " without copying; call reshape() or contiguous()");
  }
  return record_view(x, shape, *strides);
}

Tensor reshape(const Tensor& x, const Shape& wanted) {
  const Shape shape = complete("reshape", wanted, x.shape());
  if (shape == x.shape()) return x;
  const auto strides = view_strides(x.shape(), x.strides(), shape);
  return strides ? record_view(x, shape, *strides) : view(contiguous(x), shape);
}

/// dx = dy permuted back
Tensor permute(const Tensor& x, const std::vector<int>& axes) {
  const int rank = x.rank();
  std::vector<int> back(static_cast<std::size_t>(rank), -1);
  Shape shape;
  Strides strides;
  if (static_cast<int>(axes.size()) != rank) {
    fail("permute: x ", x.shape(), " has ", rank, " axes, ", axes.size(), " are named");
  }
  for (int to = 0; to < rank; ++to) {
    const int from = normal_axis("permute", axes[static_cast<std::size_t>(to)], rank);
    if (back[static_cast<std::size_t>(from)] >= 0) fail("permute: axis ", from, " is named twice");
    back[static_cast<std::size_t>(from)] = to;
    shape.append(x.shape()[from]);
    strides.append(x.strides()[from]);
  }
  return record("permute", {x}, Tensor(x, shape, strides),
                [back](const Tensor& dy, Grads& grads) { grads.add(0, permute(dy, back)); });
}

Tensor transpose(const Tensor& x, int axis, int other) {
  std::vector<int> axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  std::swap(axes[static_cast<std::size_t>(normal_axis("transpose", axis, x.rank()))],
            axes[static_cast<std::size_t>(normal_axis("transpose", other, x.rank()))]);
  return permute(x, axes);
}

/// dx = zeros, with dy at the slice: onto what is there already, where that may be
Tensor slice(const Tensor& x, int some_axis, int64_t start, int64_t end, int64_t step) {
  const int axis = normal_axis("slice", some_axis, x.rank());
  const int64_t size = x.size(axis);
  if (step < 1) fail("slice: step is ", step, "; need at least 1");
  step = std::min(step, std::max<int64_t>(size, 1));  // larger ones show no more
  start = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
  end = std::clamp<int64_t>(end < 0 ? end + size : end, start, size);

  Shape shape = x.shape();
  Strides strides = x.strides();
  shape[axis] = (end - start + step - 1) / step;
  strides[axis] *= step;
  return record("slice", {x}, Tensor(x, shape, strides, start * x.stride(axis)),
                [whole = x.shape(), axis, start, end, step](const Tensor& dy, Grads& grads) {
                  if (dy.shape() == whole) return grads.add(0, dy);
                  if (const Tensor sum = grads.claim_sum(0); sum.defined()) {
                    const Tensor part = slice(sum, axis, start, end, step);
                    return copy(part + dy, part);
                  }
                  grads.add(0, slice_scatter(dy, whole, axis, start, step));
                });
}

Tensor select(const Tensor& x, int some_axis, int64_t index) {
  const int axis = normal_axis("select", some_axis, x.rank());
  const int64_t size = x.size(axis);
  if (index < -size || index >= size) {
    fail("select: index ", index, " is outside axis ", axis, " of ", x.shape(), "; need ", -size, " <= index < ", size);
  }
  if (index < 0) index += size;
  return squeeze(slice(x, axis, index, index + 1), axis);
}

/// dx = dy, summed over the repeated axes
Tensor expand(const Tensor& x, const Shape& wanted) {
  Shape shape = wanted;
  const int extra = shape.rank() - x.rank();
  for (int axis = std::max(extra, 0); axis < shape.rank(); ++axis) {
    if (shape[axis] == -1) shape[axis] = x.shape()[axis - extra];
  }
  const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
  if (negative || !broadcasts_to(x.shape(), shape)) {
    fail("expand: ", x.shape(), " cannot be repeated to ", wanted,
         "; only axes of size 1 can, or missing ones to a size that is given");
  }
  return record("expand", {x}, Tensor(x, shape, broadcast_strides(x.shape(), x.strides(), shape)),
                [](const Tensor& dy, Grads& grads) { grads.add(0, dy); });
}

Tensor squeeze(const Tensor& x, int some_axis) {
  const int axis = normal_axis("squeeze", some_axis, x.rank());
  if (x.size(axis) != 1) return x;
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.erase(axis);
  strides.erase(axis);
  return record_view(x, shape, strides);
}

Tensor unsqueeze(const Tensor& x, int some_axis) {
  const int axis = new_axis("unsqueeze", some_axis, x.shape());
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.insert(axis, 1);
  strides.insert(axis, axis < x.rank() ? x.stride(axis) * x.size(axis) : 1);
  return record_view(x, shape, strides);
}

/// dx = dy
Tensor clone(const Tensor& x) {
  return record("clone", {x}, copy_of(x), [](const Tensor& dy, Grads& grads) { grads.add(0, dy); });
}

/// dx = dy
Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  return record("contiguous", {x}, copy_of(x), [](const Tensor& dy, Grads& grads) { grads.add(0, dy); });
}

// The methods of Tensor.
Tensor Tensor::view(const Shape& shape) const { return reel::view(*this, shape); }
Tensor Tensor::reshape(const Shape& shape) const { return reel::reshape(*this, shape); }
Tensor Tensor::transpose(int axis, int other) const { return reel::transpose(*this, axis, other); }
Tensor Tensor::permute(const std::vector<int>& axes) const { return reel::permute(*this, axes); }
Tensor Tensor::slice(int axis, int64_t start, int64_t end, int64_t step) const {
  return reel::slice(*this, axis, start, end, step);
}
Tensor Tensor::select(int axis, int64_t index) const { return reel::select(*this, axis, index); }
Tensor Tensor::expand(const Shape& shape) const { return reel::expand(*this, shape); }
Tensor Tensor::squeeze(int axis) const { return reel::squeeze(*this, axis); }
Tensor Tensor::unsqueeze(int axis) const { return reel::unsqueeze(*this, axis); }
Tensor Tensor::contiguous() const { return reel::contiguous(*this); }

}  // namespace reel
