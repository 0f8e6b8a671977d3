#include "autograd/ops/layout.h"

#include "autograd/kernels/pack.h"
#include "autograd/ops.h"

namespace reel {

Tensor spaced(const Shape& shape, DType dtype, int axes) {
  const int outer = shape.rank() - axes;  // axes along which rows follow each other
  Strides strides = contiguous_strides(shape);
  if (outer < 1) return Tensor(shape, dtype);
  const int64_t row = strides[outer - 1];
  const int64_t apart =
      with_type(dtype, [&]<class T>(T) { return kernels::collides<T>(row) ? kernels::compact_stride<T>(row) : row; });
  for (int axis = 0; axis < outer; ++axis) strides[axis] = strides[axis] / row * apart;
  return Tensor(Tensor({shape[0] * strides[0]}, dtype), shape, strides);
}

Tensor laid_out_as(const Tensor& x, Shape shape) {
  const bool cut_out = x.rank() > 2 && x.size(-3) > 1 && x.stride(-3) < x.stride(-2);
  const int64_t row = cut_out ? x.size(-3) * x.size(-1) : x.size(-1);
  if (cut_out) std::swap(shape[shape.rank() - 3], shape[shape.rank() - 2]);
  const bool is_spaced = x.rank() > 1 && x.stride(-2) > row;
  const Tensor result = is_spaced ? spaced(shape, x.dtype(), cut_out ? 2 : 1) : Tensor(shape, x.dtype());
  return cut_out ? detach(transpose(result, -3, -2)) : result;
}

}  // namespace reel
