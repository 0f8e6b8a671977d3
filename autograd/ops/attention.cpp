#include "autograd/kernels/attention.h"

#include <type_traits>

#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// A new tensor (..., rows, width) for x (..., rows, _), whose last two leading axes lie in memory in the order of x's:
/// what a view has cut into heads, a view can put together again.
Tensor laid_out_as(const Tensor& x, int64_t width) {
  Shape shape = x.shape();
  shape[x.rank() - 1] = width;
  if (x.rank() < 3 || x.stride(-3) >= x.stride(-2)) return Tensor(shape, x.dtype());
  std::swap(shape[x.rank() - 3], shape[x.rank() - 2]);
  return detach(transpose(Tensor(shape, x.dtype()), -3, -2));
}

kernels::Sizes leading(const Dims& dims) { return kernels::Sizes(dims.begin(), dims.end() - 2); }

template <class T>
kernels::Heads<T> heads(const Tensor& x) {
  return {{x.data<std::remove_const_t<T>>(), x.stride(-2), x.stride(-1)}, leading(x.strides())};
}

/// Throws unless the last axes fit; of the leading ones, expand() and the mask see to it.
void check(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, double scale) {
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2 || q.size(-1) != k.size(-1) || k.size(-2) != v.size(-2)) {
    fail("attention: q is ", q.shape(), ", k is ", k.shape(), ", v is ", v.shape(),
         "; need (..., T, D), (..., S, D) and (..., S, E)");
  }
  check_same_dtype("attention", q, k);
  check_same_dtype("attention", q, v);
  if (!(scale > 0)) fail("attention: the scale is ", scale, "; need more than 0");
  const auto& hidden = mask.padding();
  if (hidden && (q.rank() < 3 || hidden->shape() != Shape{q.size(0), k.size(-2)})) {
    fail("attention: the mask hides padding of ", hidden->shape(), ", q is ", q.shape(), ", k is ", k.shape(),
         "; need (B, S) for q (B, ..., T, D)");
  }
}

/// x with the leading axes of `like`, repeated where it has fewer.
Tensor with_leading_of(const Tensor& like, const Tensor& x) {
  Shape shape = like.shape();
  shape[like.rank() - 2] = x.size(-2);
  shape[like.rank() - 1] = x.size(-1);
  return shape == x.shape() ? x : expand(x, shape);
}

/// The way back in small steps, for second derivatives.
void composed_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, double scale,
                       const Tensor& dout, Grads& grads) {
  const Tensor weights = softmax(mask.apply(matmul(q, transpose(k, -1, -2)) * scale), -1);  // (..., T, S)
  const Tensor dweights = matmul(dout, transpose(v, -1, -2));
  const Tensor dscores = weights * (dweights - sum(dweights * weights, {-1}, KeepDim::yes)) * scale;
  grads.add(0, matmul(dscores, k));
  grads.add(1, matmul(transpose(dscores, -1, -2), q));
  grads.add(2, matmul(transpose(weights, -1, -2), dout));
}

kernels::AttentionShape kernel_shape(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                                     double scale) {
  return {.batch = leading(q.shape()),
          .queries = q.size(-2),
          .keys = k.size(-2),
          .width = q.size(-1),
          .value_width = v.size(-1),
          .scale = scale,
          .reach = mask.reach(q.size(-2), k.size(-2)),
          .hidden = mask.padding() ? mask.padding()->data() : nullptr};
}

}  // namespace

/// O = P V, P = softmax(mask(scale Q Kᵀ))          its derivatives stand in kernels/attention.h
Tensor attention(const Tensor& q, const Tensor& some_k, const Tensor& some_v, const Mask& mask, double scale) {
  check(q, some_k, some_v, mask, scale);
  const Tensor k = with_leading_of(q, some_k), v = with_leading_of(q, some_v);
  Shape rows = q.shape();
  rows.erase(q.rank() - 1);
  const Tensor out = laid_out_as(q, v.size(-1)), log_sums(rows, q.dtype());
  Tensor weights;  // kept for the way back where they take no more room than the queries
  with_type(q.dtype(), [&]<class T>(T) {
    const kernels::AttentionShape shape = kernel_shape(q, k, v, mask, scale);
    if (Tape::recording() && k.size(-2) <= q.size(-1)) weights = Tensor({kernels::weights_size<T>(shape)}, q.dtype());
    kernels::attention<T>(shape, heads<const T>(q), heads<const T>(k), heads<const T>(v), heads<T>(out),
                          log_sums.data<T>(), weights.defined() ? weights.data<T>() : nullptr);
  });
  auto backward = [q, k, v, values = detach(out), log_sums, weights, mask, scale](const Tensor& dout, Grads& grads) {
    if (Tape::recording()) return composed_backward(q, k, v, mask, scale, dout, grads);
    const Tensor dense_rows = dout.stride(-1) == 1 ? dout : dense(dout);
    const Tensor dq = laid_out_as(q, q.size(-1)), dk = laid_out_as(k, k.size(-1)), dv = laid_out_as(v, v.size(-1));
    with_type(q.dtype(), [&]<class T>(T) {
      kernels::attention_backward<T>(kernel_shape(q, k, v, mask, scale), heads<const T>(q), heads<const T>(k),
                                     heads<const T>(v), heads<const T>(values), log_sums.data<T>(),
                                     weights.defined() ? weights.data<T>() : nullptr, heads<const T>(dense_rows),
                                     heads<T>(dq), heads<T>(dk), heads<T>(dv));
    });
    grads.add(0, dq);
    grads.add(1, dk);
    grads.add(2, dv);
  };
  return record("attention", {q, k, v}, out, backward);
}

}  // namespace reel
