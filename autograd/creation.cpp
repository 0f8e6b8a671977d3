#include "autograd/creation.h"

#include <algorithm>
#include <cmath>

#include "autograd/error.h"

namespace reel {
namespace {

/// A new tensor whose elements are next(), one after another.
template <class Next>
Tensor generate(const char* operation, const Shape& shape, DType dtype, Next next) {
  check_size(operation, shape);
  Tensor result(shape, dtype);
  with_type(dtype, [&]<class T>(T) {
    std::generate_n(result.data<T>(), result.numel(), [&] { return static_cast<T>(next()); });
  });
  return result;
}

}  // namespace

Tensor tensor(const Shape& shape, const std::vector<double>& values, DType dtype) {
  check_size("tensor", shape);
  if (static_cast<int64_t>(values.size()) != numel(shape)) {
    fail("tensor: ", values.size(), " values do not fill the shape ", shape, " of ", numel(shape));
  }
  return generate("tensor", shape, dtype, [value = values.begin()]() mutable { return *value++; });
}

Tensor scalar(double value, DType dtype) { return full({}, value, dtype); }

Tensor full(const Shape& shape, double value, DType dtype) {
  return generate("full", shape, dtype, [value] { return value; });
}

Tensor zeros(const Shape& shape, DType dtype) {
  return generate("zeros", shape, dtype, [] { return 0; });
}
Tensor ones(const Shape& shape, DType dtype) {
  return generate("ones", shape, dtype, [] { return 1; });
}

Tensor arange(int64_t count, DType dtype) {
  return generate("arange", {count}, dtype, [next = int64_t{0}]() mutable { return static_cast<double>(next++); });
}

Tensor randn(const Shape& shape, DType dtype, Generator& generator) {
  return generate("randn", shape, dtype, [&] { return generator.normal(); });
}

Tensor uniform(const Shape& shape, double low, double high, DType dtype, Generator& generator) {
  if (!(low <= high && std::isfinite(high - low))) {
    fail("uniform: from ", low, " to ", high, "; need the second not below the first, and a finite difference");
  }
  return generate("uniform", shape, dtype, [&] { return low + (high - low) * generator.uniform(); });
}

}  // namespace reel
