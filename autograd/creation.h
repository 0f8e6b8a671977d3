#pragma once
// New tensors: from values, constant, counted, random.

#include <vector>

#include "autograd/random.h"
#include "autograd/tensor.h"

namespace reel {

/// `values` in row-major order. Throws unless there are numel(shape) of them.
Tensor tensor(const Shape& shape, const std::vector<double>& values, DType dtype = DType::f32);
/// A 0-d tensor.
Tensor scalar(double value, DType dtype = DType::f32);

Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
/// 0, 1, ..., count - 1
Tensor arange(int64_t count, DType dtype = DType::f32);

/// Normal with mean 0 and standard deviation 1.
Tensor randn(const Shape& shape, DType dtype = DType::f32, Generator& generator = default_generator());
/// Uniform in [low, high), but what rounds up may reach high. Throws unless low <= high, and high - low is finite.
Tensor uniform(const Shape& shape, double low, double high, DType dtype = DType::f32,
               Generator& generator = default_generator());

}  // namespace reel
