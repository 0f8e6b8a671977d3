#include "autograd/shape.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

#include "autograd/error.h"
#include "autograd/kernels/nest.h"

namespace reel {

static_assert(max_rank <= kernels::max_axes);

Dims::Dims(std::initializer_list<int64_t> values) : Dims(std::span(values.begin(), values.size())) {}

Dims::Dims(std::span<const int64_t> values) {
  for (int64_t value : values) append(value);
}

Dims Dims::filled(int rank, int64_t value) {
  Dims dims;
  for (int axis = 0; axis < rank; ++axis) dims.append(value);
  return dims;
}

void Dims::fail_axis(int axis) const {
  fail("shape: ", *this, " has no axis ", axis, "; need 0 <= axis < ", rank_,
       " (a tensor's size() also counts from the end)");
}

void Dims::append(int64_t value) { insert(rank_, value); }

void Dims::insert(int axis, int64_t value) {
  if (rank_ == max_rank) fail("shape: ", *this, " cannot have another axis; ", max_rank, " is the maximum");
  if (axis < 0 || axis > rank_) {
    fail("shape: no axis ", axis, " can be added to ", *this, "; need 0 <= axis <= ", rank_);
  }
  const auto at = values_.begin() + axis;
  std::copy_backward(at, values_.begin() + rank_, values_.begin() + rank_ + 1);
  *at = value;
  ++rank_;
}

void Dims::erase(int axis) {
  const auto at = values_.begin() + static_cast<int>(place(axis));
  std::copy(at + 1, values_.begin() + rank_, at);
  --rank_;
}

bool operator==(const Dims& a, const Dims& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '(';
  for (int axis = 0; axis < dims.rank(); ++axis) out << (axis ? ", " : "") << dims[axis];
  return out << (dims.rank() == 1 ? ",)" : ")");
}

int64_t numel(const Shape& shape) { return kernels::product(shape); }

void check_size(const char* operation, const Shape& shape) {
  int64_t room = std::numeric_limits<int64_t>::max() / static_cast<int64_t>(sizeof(double));
  for (int64_t size : shape) {
    if (size < 0) fail(operation, ": the shape ", shape, " has a negative size");
    room /= std::max<int64_t>(size, 1);
  }
  if (room == 0) fail(operation, ": the shape ", shape, " has more elements than any memory can hold");
}

Shape complete(const char* operation, Shape shape, const Shape& from) {
  const int64_t count = numel(from);
  int unknown = -1;
  const Shape wanted = shape;
  Shape given = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] >= 0) continue;
    if (shape[axis] == -1 && unknown < 0) {
      unknown = axis;
      given[axis] = 1;
    } else {
      fail(operation, ": ", shape, " has a negative size; only one may be -1");
    }
  }
  check_size(operation, given);
  const int64_t known = numel(given);
  if (unknown >= 0 && known == 0) fail(operation, ": ", shape, " leaves -1 open, as another size is 0; give it");
  if (unknown >= 0) shape[unknown] = count / known;
  if (numel(shape) != count) {
    fail(operation, ": ", from, " holds ", count, " elements, ", wanted, " does not");
  }
  return shape;
}

Dims leading(const Dims& dims, int last) {
  return Dims(std::span(dims.begin(), dims.begin() + std::max(dims.rank() - last, 0)));
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step *= std::max<int64_t>(shape[axis], 1);
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  if (numel(shape) == 0) return true;
  int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) continue;  // nobody steps along an axis of one element
    if (strides[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

bool strides_nest(const Shape& shape, const Strides& strides) {
  if (is_contiguous(shape, strides)) return true;
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride and size
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1) axes.emplace_back(std::abs(strides[axis]), shape[axis]);
  }
  std::ranges::sort(axes);
  int64_t last = 0;  // where the last element along the axes so far lies
  for (const auto& [stride, size] : axes) {
    if (stride <= last) return false;
    last += stride * (size - 1);
  }
  return true;
}

int new_axis(const char* operation, int axis, const Shape& shape) {
  const int rank = shape.rank();
  if (axis < -rank - 1 || axis > rank) {
    fail(operation, ": no axis can be inserted at ", axis, " of ", shape, "; need ", -rank - 1, " <= axis <= ", rank);
  }
  return axis < 0 ? axis + rank + 1 : axis;
}

int normal_axis(const char* operation, int axis, int rank) {
  if (rank == 0) fail(operation, ": there is no axis ", axis, " in a tensor without axes");
  if (axis < -rank || axis >= rank) {
    fail(operation, ": there is no axis ", axis, " in a tensor of ", rank, rank == 1 ? " axis" : " axes", "; need ",
         -rank, " <= axis < ", rank);
  }
  return axis < 0 ? axis + rank : axis;
}

Shape broadcast(const char* operation, const Shape& a, const Shape& b) {
  Shape longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  int shift = longer.rank() - shorter.rank();
  for (int axis = 0; axis < shorter.rank(); ++axis) {
    int64_t& size = longer[axis + shift];
    int64_t other = shorter[axis];
    if (size == 1) {
      size = other;
    } else if (other != 1 && other != size) {
      fail(operation, ": shapes ", a, " and ", b,
           " do not broadcast; aligned at the last axis, sizes must be equal or one of them 1");
    }
  }
  return longer;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  const int extra = to.rank() - from.rank();
  if (extra < 0) return false;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] != 1 && from[axis] != to[axis + extra]) return false;
  }
  return true;
}

Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& to) {
  Strides result = Strides::filled(to.rank(), 0);
  int shift = to.rank() - shape.rank();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == to[axis + shift]) result[axis + shift] = strides[axis];
  }
  return result;
}

}  // namespace reel
