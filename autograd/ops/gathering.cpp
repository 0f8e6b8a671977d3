#include "autograd/kernels/gather.h"

#include <algorithm>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/ops/folded.h"
#include "autograd/tape.h"

namespace reel {

/// y = a next to b ...          da, db, ... = their parts of dy
Tensor cat(const std::vector<Tensor>& parts, int some_axis) {
  if (parts.empty()) fail("cat: there is nothing to join; need at least one tensor");
  const int axis = normal_axis("cat", some_axis, parts[0].rank());
  Shape shape = parts[0].shape();
  shape[axis] = 0;
  std::vector<int64_t> starts;
  for (const Tensor& part : parts) {
    check_same_dtype("cat", parts[0], part);
    Shape rest = part.shape();
    if (part.rank() == shape.rank()) rest[axis] = shape[axis];
    if (rest != shape) {
      fail("cat: ", part.shape(), " does not continue ", parts[0].shape(), " along axis ", axis,
           "; all other sizes must be equal");
    }
    starts.push_back(shape[axis]);
    shape[axis] += part.size(axis);
  }
  Tensor y(shape, parts[0].dtype());
  starts.push_back(shape[axis]);
  for (std::size_t i = 0; i < parts.size(); ++i) copy(parts[i], slice(y, axis, starts[i], starts[i + 1]));
  return record("cat", parts, y, [axis, starts](const Tensor& dy, Grads& grads) {
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      if (grads.needs(i)) grads.add(i, slice(dy, axis, starts[i], starts[i + 1]));
    }
  });
}

Tensor stack(const std::vector<Tensor>& parts, int some_axis) {
  if (parts.empty()) fail("stack: there is nothing to join; need at least one tensor");
  const int axis = new_axis("stack", some_axis, parts[0].shape());
  std::vector<Tensor> unsqueezed;
  for (const Tensor& part : parts) {
    check_same_dtype("stack", parts[0], part);
    if (part.shape() != parts[0].shape()) {
      fail("stack: ", part.shape(), " and ", parts[0].shape(), " differ; all shapes must be equal");
    }
    unsqueezed.push_back(unsqueeze(part, axis));
  }
  return cat(unsqueezed, axis);
}

std::vector<Tensor> split(const Tensor& x, int64_t length, int some_axis) {
  const int axis = normal_axis("split", some_axis, x.rank());
  if (length < 1) fail("split: pieces of length ", length, "; need at least 1");
  std::vector<Tensor> pieces;
  int64_t start = 0;
  do {
    pieces.push_back(slice(x, axis, start, std::min(start + length, x.size(axis))));
    start += length;
  } while (start < x.size(axis));
  return pieces;
}

/// x = 0, x[slice] = y          dy = dx[slice]
Tensor slice_scatter(const Tensor& y, const Shape& shape, int some_axis, int64_t start, int64_t step) {
  const int axis = normal_axis("slice_scatter", some_axis, shape.rank());
  const int64_t length = y.rank() == shape.rank() ? y.size(axis) : 0;
  const int64_t last = length == 0 ? 0 : length - 1;  // steps from the first to the last
  Shape whole = y.shape();
  if (y.rank() == shape.rank()) whole[axis] = shape[axis];
  if (whole != shape || step < 1 || start < 0 || start > shape[axis] - (length > 0 ? 1 : 0) ||
      (last > 0 && step > (shape[axis] - 1 - start) / last)) {
    fail("slice_scatter: y ", y.shape(), " does not fit ", shape, " along axis ", axis, " from ", start,
         " in steps of ", step, "; need the sizes of y but along the axis, where every place must be within");
  }
  step = std::min(step, std::max<int64_t>(shape[axis], 1));  // a larger one would overflow a stride
  const int64_t end = length == 0 ? start : start + last * step + 1;
  Tensor x = zeros(shape, y.dtype());
  copy(y, slice(x, axis, start, end, step));
  return record("slice_scatter", {y}, x, [axis, start, end, step](const Tensor& dx, Grads& grads) {
    grads.add(0, slice(dx, axis, start, end, step));
  });
}

/// y[.., j, ..] = x[.., index[.., j, ..], ..]          dx[.., k, ..] = Σ dy[.., j, ..] over all j with index k
Tensor gather(const Tensor& x, int some_axis, const Ids& index) {
  const int axis = normal_axis("gather", some_axis, x.rank());
  Shape shape = x.shape();
  if (index.rank() == x.rank()) shape[axis] = index.size(axis);
  if (index.shape() != shape) {
    fail("gather: index is ", index.shape(), ", x is ", x.shape(), "; all sizes but that of axis ", axis,
         " must be equal");
  }
  check_indices("gather", index, x.size(axis));
  const Folded around(x.shape(), axis, axis);
  const Tensor values = contiguous_values(x);
  Tensor y(shape, x.dtype());
  with_type(x.dtype(), [&]<class T>(T) {
    kernels::gather(around.outer, around.count, index.size(axis), around.inner, values.data<T>(), index.data(),
                    y.data<T>());
  });
  return record("gather", {x}, y, [axis, index = index, size = around.count](const Tensor& dy, Grads& grads) {
    grads.add(0, scatter_add(dy, axis, index, size));
  });
}

/// x[.., k, ..] = Σ y[.., j, ..] over all j with index k          dy[.., j, ..] = dx[.., index[.., j, ..], ..]
Tensor scatter_add(const Tensor& y, int some_axis, const Ids& index, int64_t size) {
  const int axis = normal_axis("scatter_add", some_axis, y.rank());
  if (index.shape() != y.shape()) {
    fail("scatter_add: index is ", index.shape(), ", y is ", y.shape(), "; they must be equal");
  }
  check_indices("scatter_add", index, size);
  Shape shape = y.shape();
  shape[axis] = size;
  const Folded around(shape, axis, axis);
  const Tensor values = contiguous_values(y);
  Tensor x = zeros(shape, y.dtype());
  with_type(x.dtype(), [&]<class T>(T) {
    kernels::scatter_add(around.outer, size, y.size(axis), around.inner, values.data<T>(), index.data(), x.data<T>());
  });
  return record("scatter_add", {y}, x,
                [axis, index = index](const Tensor& dx, Grads& grads) { grads.add(0, gather(dx, axis, index)); });
}

/// y[n] = table[ids[n]]          dtable[v] = Σ dy[n] over all n with ids[n] = v
Tensor embedding(const Tensor& table, const Ids& ids) {
  if (table.rank() != 2) fail("embedding: table is ", table.shape(), "; need (vocabulary, width)");
  check_indices("embedding", ids, table.size(0));
  const Tensor values = contiguous_values(table);
  Shape shape = ids.shape();
  shape.append(table.size(1));
  Tensor y(shape, table.dtype());
  with_type(table.dtype(), [&]<class T>(T) {
    kernels::gather_rows(ids.numel(), table.size(1), values.data<T>(), ids.data(), y.data<T>());
  });
  return record("embedding", {table}, y, [ids = ids](const Tensor& dy, Grads& grads) { grads.add_rows(0, ids, dy); });
}

/// table[v] = Σ y[n] over all n with ids[n] = v          dy[n] = dtable[ids[n]]
Tensor embedding_sum(const Tensor& y, const Ids& ids, int64_t rows) {
  if (y.rank() == 0 || leading(y.shape(), 1) != ids.shape()) {
    fail("embedding_sum: y is ", y.shape(), ", ids are ", ids.shape(), "; need one row of y for each id");
  }
  if (rows < 0) fail("embedding_sum: a table of ", rows, " rows; need 0 or more");
  check_indices("embedding_sum", ids, rows);
  const Tensor values = contiguous_values(y);
  Tensor table = zeros({rows, y.size(-1)}, y.dtype());
  with_type(y.dtype(), [&]<class T>(T) {
    kernels::scatter_add_rows(ids.numel(), y.size(-1), values.data<T>(), ids.data(), table.data<T>());
  });
  return record("embedding_sum", {y}, table,
                [ids = ids](const Tensor& dtable, Grads& grads) { grads.add(0, embedding(dtable, ids)); });
}

}  // namespace reel
