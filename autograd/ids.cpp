#include "autograd/ids.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "autograd/error.h"

namespace reel {

Ids::Ids(Shape shape, std::vector<std::int32_t> values) : shape_(shape), values_(std::move(values)) {
  check_size("Ids", shape_);
  if (reel::numel(shape_) != numel()) {
    fail("Ids: ", numel(), " values do not fill the shape ", shape_, " of ", reel::numel(shape_));
  }
}

Ids::Ids(std::vector<std::int32_t> values) : shape_{std::ssize(values)}, values_(std::move(values)) {}

Ids Ids::zeros(Shape shape) {
  check_size("Ids::zeros", shape);
  std::vector<std::int32_t> values;
  try {
    values.resize(static_cast<std::size_t>(reel::numel(shape)));
  } catch (const std::exception&) {  // too many for memory, or for any vector
    fail("out of memory: there is no room for ids ", shape, "; make the batch or the texts smaller");
  }
  return Ids(shape, std::move(values));
}

Ids Ids::arange(int64_t count) {
  if (count < 0 || count > most_ids) {
    fail("Ids::arange: ", count, " ids; need 0 or more, and at most ", most_ids, ", which 32 bits hold");
  }
  Ids ids = zeros({count});
  std::iota(ids.values().begin(), ids.values().end(), 0);
  return ids;
}

Ids Ids::view(Shape shape) const {
  Ids result = *this;
  result.shape_ = complete("Ids::view", shape, shape_);
  return result;
}

Ids Ids::unsqueeze(int axis) const {
  Shape shape = shape_;
  shape.insert(new_axis("Ids::unsqueeze", axis, shape_), 1);
  return view(shape);
}

void check_indices(const char* operation, const Ids& ids, int64_t size) {
  for (std::int32_t id : ids.values()) {
    if (id < 0 || id >= size) {
      fail(operation, ": the index ", id,
           size > 0 ? text(" is outside 0 .. ", size - 1) : " is out of range: there is nothing to choose from");
    }
  }
}

Ids eq(const Ids& ids, std::int32_t value) {
  Ids result = Ids::zeros(ids.shape());
  std::transform(ids.values().begin(), ids.values().end(), result.values().begin(),
                 [value](std::int32_t id) { return id == value ? 1 : 0; });
  return result;
}

}  // namespace reel
