#include "nn/layers.h"

#include <cmath>

#include "autograd/creation.h"
#include "autograd/error.h"

namespace reel::nn {
namespace {

/// `shape`, if weights can have it.
const Shape& checked(const char* layer, const Shape& shape) {
  check_size(layer, shape);
  return shape;
}

/// `table`, if it can be looked up in: what is refused stays as it was.
const Tensor& checked_table(const Tensor& table) {
  if (table.rank() != 2) fail("Embedding: the table is ", table.shape(), "; need (vocabulary, width)");
  return table;
}

/// PyTorch's default for what reads `fan_in` numbers: uniform in ±1/√fan_in.
Tensor initial(const Shape& shape, int64_t fan_in, DType dtype) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  return uniform(shape, -bound, bound, dtype);
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, Bias with_bias, DType dtype)
    : weight(parameter("weight", initial(checked("Linear", {out, in}), in, dtype))) {
  if (with_bias == Bias::yes) bias = parameter("bias", initial({out}, in, dtype));
}

Embedding::Embedding(int64_t count, int64_t width, double deviation, DType dtype)
    : weight(parameter("weight", randn(checked("Embedding", {count, width}), dtype) * deviation)) {
  if (!(deviation >= 0 && std::isfinite(deviation))) {
    fail("Embedding: the deviation is ", deviation, "; need a finite number >= 0");
  }
}

Embedding::Embedding(const Tensor& table, Frozen frozen)
    : weight(frozen == Frozen::yes ? state("weight", detach(checked_table(table)))
                                   : parameter("weight", checked_table(table))) {}

LayerNorm::LayerNorm(int64_t width, double epsilon, DType dtype)
    : weight(parameter("weight", ones(checked("LayerNorm", {width}), dtype))),
      bias(parameter("bias", zeros({width}, dtype))),
      epsilon_(epsilon) {
  if (!(epsilon >= 0 && std::isfinite(epsilon))) fail("LayerNorm: epsilon is ", epsilon, "; need a finite number >= 0");
}

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p <= 1)) fail("Dropout: p is ", p, "; need 0 <= p <= 1");
}

namespace {

int64_t checked_width(int64_t kernel) {
  if (kernel < 1) fail("Conv1d: the kernel is ", kernel, " wide; need at least 1");
  return kernel;
}

}  // namespace

Conv1d::Conv1d(int64_t in, int64_t out, int64_t kernel, Conv1dOptions options, Bias with_bias, DType dtype)
    : weight(parameter("weight", initial(checked("Conv1d", {out, in, checked_width(kernel)}), in * kernel, dtype))),
      options_(options) {
  const auto [stride, padding, dilation] = options;
  if (stride < 1 || padding < 0 || dilation < 1) {
    fail("Conv1d: stride ", stride, ", padding ", padding, ", dilation ", dilation, "; need >= 1, >= 0, >= 1");
  }
  if (with_bias == Bias::yes) bias = parameter("bias", initial({out}, in * kernel, dtype));
}

}  // namespace reel::nn
