#include <algorithm>
#include <utility>

#include "autograd/error.h"
#include "autograd/kernels/matmul.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/layout.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// The last two axes as a matrix, whatever their strides: a transposed operand is read where it lies.
template <class T>
kernels::Matrix<const T> matrix(const Tensor& x) {
  return {x.data<T>(), x.stride(-2), x.stride(-1)};
}

void check_inner(const char* operation, const char* a_name, const Tensor& a, const char* b_name, const Tensor& b,
                 int axis_of_b) {
  check_same_dtype(operation, a, b);
  if (a.size(-1) != b.size(axis_of_b)) {
    fail(operation, ": inner dimensions differ: ", a_name, " is ", a.shape(), ", ", b_name, " is ", b.shape(),
         "; need ", a_name, ".size(-1) == ", b_name, ".size(", axis_of_b, ")");
  }
}

void check_bias(const char* operation, const Tensor& bias, const Tensor& weight) {
  check_same_dtype(operation, weight, bias);
  if (bias.shape() != Shape{weight.size(0)}) {
    fail(operation, ": bias is ", bias.shape(), ", weight is ", weight.shape(), "; need (", weight.size(0), ",)");
  }
}

Shape leading_of_product(const Tensor& a, const Tensor& b) {
  try {
    return broadcast("matmul", leading(a.shape(), 2), leading(b.shape(), 2));
  } catch (const Error&) {
    fail("matmul: a is ", a.shape(), ", b is ", b.shape(),
         "; need leading axes that are equal, or of size 1, or missing");
  }
}

/// c = a b          da = dc bᵀ          db = aᵀ dc,       for matrices in the last two axes
Tensor multiply(const Tensor& a, const Tensor& b) {
  const Shape batch = leading_of_product(a, b);
  const int64_t M = a.size(-2), K = a.size(-1), N = b.size(-1);
  Shape shape = batch;
  shape.append(M);
  shape.append(N);
  Tensor c(shape, a.dtype());
  with_type(c.dtype(), [&]<class T>(T) {
    const Strides of_a = broadcast_strides(leading(a.shape(), 2), leading(a.strides(), 2), batch);
    const Strides of_b = broadcast_strides(leading(b.shape(), 2), leading(b.strides(), 2), batch);
    kernels::batched_matmul(batch, M, N, K, matrix<T>(a), of_a, matrix<T>(b), of_b, c.data<T>());
  });
  return record("matmul", {a, b}, c, [a = keep_for(b, a), b = keep_for(a, b)](const Tensor& dc, Grads& grads) {
    if (grads.needs(0)) grads.add(0, matmul(dc, b.transpose(-1, -2)));
    if (grads.needs(1)) grads.add(1, matmul(a.transpose(-1, -2), dc));
  });
}

/// x (..., D) as a matrix with one row for each place of the leading axes.
Shape as_rows(const Shape& shape) {
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) rows *= shape[axis];
  return {rows, shape[shape.rank() - 1]};
}
Tensor as_rows(const Tensor& x) { return reshape(x, as_rows(x.shape())); }

Shape with_last(Shape shape, int64_t size) {
  shape[shape.rank() - 1] = size;
  return shape;
}

/// Adds the rows of a b to the gradient of an input of that shape: onto what is there already, where that may be. Lays
/// it out as `rows`, those of the input, if they are at hand.
void add_product(Grads& grads, std::size_t input, const Shape& shape, const Tensor& rows, const Tensor& a,
                 const Tensor& b) {
  if (!grads.needs(input)) return;
  if (Tape::recording()) return grads.add(input, reshape(matmul(a, b), shape));
  const Tensor sum = grads.claim_sum(input);
  const bool adds = sum.defined();
  auto room = [&] { return rows.defined() ? laid_out_as(rows, as_rows(shape)) : Tensor(as_rows(shape), a.dtype()); };
  Tensor dx = adds ? as_rows(sum) : room();
  with_type(dx.dtype(), [&]<class T>(T) {
    kernels::matmul(dx.size(0), dx.size(1), a.size(1), matrix<T>(a), matrix<T>(b), dx.data<T>(), dx.stride(0),
                    {.accumulate = adds});
  });
  if (adds) return;
  dx = reshape(dx, shape);
  grads.add(input, std::move(dx));
}

enum class Relu { no, yes };

/// Whether rows of a result follow each other, or are spaced() where that pays.
enum class Rows { packed, spaced };

/// x Wᵀ + b, and what is negative replaced by 0, if that is wanted.
Tensor affine(const char* operation, const Tensor& x, const Tensor& weight, const Tensor& bias, Relu relu = Relu::no,
              Rows layout = Rows::packed) {
  if (x.rank() == 0 || weight.rank() != 2) {
    fail(operation, ": x is ", x.shape(), ", weight is ", weight.shape(), "; need (..., in) and (out, in)");
  }
  check_inner(operation, "x", x, "weight", weight, -1);
  if (bias.defined()) check_bias(operation, bias, weight);

  const int64_t in = weight.size(1), out = weight.size(0);
  const Tensor rows = as_rows(detach(x));
  const int64_t count = rows.size(0);
  const Tensor shift = bias.defined() ? contiguous_values(bias) : bias;
  const Tensor y = layout == Rows::spaced ? spaced({count, out}, x.dtype()) : Tensor({count, out}, x.dtype());
  with_type(x.dtype(), [&]<class T>(T) {
    kernels::matmul(count, out, in, matrix<T>(rows), matrix<T>(weight).transposed(), y.data<T>(), y.stride(0),
                    {.bias = shift.defined() ? shift.data<T>() : nullptr, .relu = relu == Relu::yes});
  });
  return reshape(y, with_last(x.shape(), out));
}

/// Those of x Wᵀ + b, from its own gradient; x, which is kept for dW alone, has this shape.
void add_affine_gradients(Grads& grads, const Tensor& x, const Shape& shape, const Tensor& weight,
                          const Tensor& some_dy) {
  const Tensor dy = as_rows(some_dy), rows = grads.needs(1) ? as_rows(x) : Tensor();
  add_product(grads, 0, shape, rows, dy, weight);
  add_product(grads, 1, weight.shape(), weight, dy.transpose(0, 1), rows);
  if (grads.needs(2)) grads.add(2, sum(dy, {0}));
}

/// y = x Wᵀ + b          dx = dy W          dW = dyᵀ x          db = Σ dy
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Rows layout) {
  const Tensor y = affine("linear", x, weight, bias, Relu::no, layout);
  return record("linear", {x, weight, bias}, y,
                [x = keep_for(weight, x), shape = x.shape(), weight](const Tensor& dy, Grads& grads) {
                  add_affine_gradients(grads, x, shape, weight, dy);
                });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0) {
    fail("matmul: a is ", a.shape(), ", b is ", b.shape(), "; need at least one axis each");
  }
  check_inner("matmul", "a", a, "b", b, b.rank() == 1 ? -1 : -2);
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b), b.rank() == 1 ? 0 : -2);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  if (b.rank() == 2 && a.rank() > 2) {
    // One matrix for a whole batch: one large product, and one gradient, even if `a` has to be copied for it.
    return reshape(multiply(as_rows(a), b), with_last(a.shape(), b.size(1)));
  }
  return multiply(a, b);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return linear(x, weight, bias, Rows::packed);
}

Tensor spaced_linear(const Tensor& x, const Tensor& weight) { return linear(x, weight, {}, Rows::spaced); }

/// y = max(x Wᵀ + b, 0)          dx, dW and db as above, from dy where y > 0, else 0
Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor y = affine("linear_relu", x, weight, bias, Relu::yes);
  return record("linear_relu", {x, weight, bias}, y,
                [x = keep_for(weight, x), shape = x.shape(), weight, y](Tensor dy, Grads& grads) {
                  add_affine_gradients(grads, x, shape, weight, through_relu(grads, std::move(dy), y));
                });
}

/// y[b, o, t] = bias[o] + Σ x[b, i, t stride + k dilation - padding] W[o, i, k], over i and k: one linear map of all
/// that is seen from each place.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  const auto [stride, padding, dilation] = options;
  if (x.rank() != 3 || weight.rank() != 3 || x.size(1) != weight.size(1)) {
    fail("conv1d: x is ", x.shape(), ", weight is ", weight.shape(), "; need (B, in, T) and (out, in, K)");
  }
  check_same_dtype("conv1d", x, weight);
  if (bias.defined()) check_bias("conv1d", bias, weight);
  if (stride < 1 || padding < 0 || dilation < 1) {
    fail("conv1d: stride ", stride, ", padding ", padding, ", dilation ", dilation, "; need >= 1, >= 0, >= 1");
  }
  const int64_t K = weight.size(2);
  constexpr int64_t far = int64_t{1} << 40;  // beyond any memory, but still safe to add up
  if (padding > far || dilation > far / std::max<int64_t>(K, 1)) {
    fail("conv1d: padding ", padding, ", dilation ", dilation, " and a kernel of ", K, " reach beyond any memory");
  }
  const int64_t reach = dilation * (K - 1) + 1, length = x.size(2) + 2 * padding;
  if (K < 1 || length < reach) {
    fail("conv1d: the kernel reaches over ", reach, " places, x ", x.shape(), " with padding ", padding, " has ",
         length);
  }
  const Tensor padded = padding == 0 ? x : slice_scatter(x, {x.size(0), x.size(1), length}, 2, padding);  // (B, in, _)
  const int64_t last = (length - reach) / stride * stride;  // where the kernel starts for the last output

  std::vector<Tensor> seen;  // by each of the kernel's elements: (B, T', in)
  for (int64_t k = 0; k < K; ++k) {
    seen.push_back(transpose(slice(padded, 2, k * dilation, k * dilation + last + 1, stride), 1, 2));
  }
  const Tensor map = reshape(transpose(weight, 1, 2), {weight.size(0), K * weight.size(1)});  // (out, K in)
  return transpose(linear(cat(seen, 2), map, bias), 1, 2);
}

}  // namespace reel
