#include "nn/positions.h"

#include <cmath>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"

namespace reel::nn {

Tensor sinusoidal_positions(int64_t length, int64_t width, DType dtype) {
  if (length < 0 || width < 0) fail("sinusoidal_positions: ", length, " of width ", width, "; need at least 0 of both");
  Tensor table({length, width}, DType::f64);
  double* to = table.data<double>();
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t i = 0; i < width; ++i) {
      const double exponent = static_cast<double>(i - i % 2) / static_cast<double>(width);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      *to++ = i % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  Tensor result(table.shape(), dtype);
  copy(table, result);
  return result;
}

}  // namespace reel::nn
