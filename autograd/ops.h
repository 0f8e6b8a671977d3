#pragma once
// The catalogue: every differentiable operation, one line each.
//
// - Inputs may have any strides, and must have one dtype. A negative axis counts from the end.
// - Elementwise operations broadcast as in NumPy, except that masked_fill keeps x's shape; matmul and attention
//   broadcast leading axes, attention to those of q.
// - Results are new and contiguous, except those of conv1d and attention; views share their input's memory, and so do
//   reshape, contiguous and dropout with nothing to do.
// - Denormal numbers count as 0, as they may cost a hundred cycles each (torch.set_flush_denormal): the first operation
//   switches that on for all that its thread computes.
// - Derivatives stand beside the values in ops/*.cpp. The tests read this file, and fail for one without a check.

#include <vector>

#include "autograd/ids.h"
#include "autograd/mask.h"
#include "autograd/random.h"
#include "autograd/tensor.h"

namespace reel {

enum class KeepDim { no, yes };

// ---- arithmetic (ops/arithmetic.cpp) ----
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor neg(const Tensor& x);
/// NaN where a base is negative and its exponent no integer; x^0 is 1 for every x.
Tensor pow(const Tensor& x, double exponent);
Tensor pow(const Tensor& a, const Tensor& b);
/// Where a = b, each gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);

// ---- functions of one number (ops/functions.cpp) ----
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor relu(const Tensor& x);
/// x Φ(x), Φ the normal distribution function. Hendrycks, Gimpel: "Gaussian error linear units" (2016).
Tensor gelu(const Tensor& x);
/// The approximation of gelu by tanh, as in GPT-2.
Tensor gelu_tanh(const Tensor& x);
/// x sigmoid(x). Elfwing, Uchibe, Doya: "Sigmoid-weighted linear units" (2017).
Tensor silu(const Tensor& x);

// ---- choices (ops/choices.cpp) ----
/// condition ? a : b; `condition` holds 1 and 0.
Tensor where(const Ids& condition, const Tensor& a, const Tensor& b);
/// `value` where the mask is 1, x elsewhere.
Tensor masked_fill(const Tensor& x, const Ids& mask, double value);
/// x on and above the `diagonal` of the last two axes, 0 elsewhere; 0 is the main one, 1 the one above.
Tensor triu(const Tensor& x, int64_t diagonal = 0);
/// x on and below the `diagonal`.
Tensor tril(const Tensor& x, int64_t diagonal = 0);

// ---- reductions (ops/reductions.cpp) ----
/// Over all elements, or along some axes, which disappear or keep size 1. Along no axes nothing is summed (PyTorch:
/// all).
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const std::vector<int>& axes, KeepDim keep = KeepDim::no);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const std::vector<int>& axes, KeepDim keep = KeepDim::no);
/// The sum of squared deviations over count - correction, or over 0 where that is negative.
Tensor var(const Tensor& x, const std::vector<int>& axes, int correction = 1, KeepDim keep = KeepDim::no);

/// The largest along an axis, and where it is: the first of equal ones, which alone gets the gradient.
struct Max {
  Tensor values;
  Ids indices;
};
Max max(const Tensor& x, int axis);

// ---- products (ops/products.cpp) ----
/// (..., M, K) x (..., K, N) -> (..., M, N); leading axes broadcast. A vector (K) stands for a row on the left and a
/// column on the right, and its axis is dropped from the result.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x (..., in), weight (out, in), bias (out) or undefined -> (..., out)
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// relu(linear(x, weight, bias)), fused: linear's result is never stored.
Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
struct Conv1dOptions {
  int64_t stride = 1;    // places from one output to the next
  int64_t padding = 0;   // zeros before and after
  int64_t dilation = 1;  // places from one element of the kernel to the next
};
/// Slides a kernel along time: x (B, in, T), weight (out, in, K), bias (out) or undefined -> (B, out, T'),
/// T' = (T + 2 padding - dilation (K - 1) - 1) / stride + 1
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv1dOptions& options = {});

// ---- attention (ops/attention.cpp) ----
/// softmax(mask(scale q kᵀ)) v for q (..., T, D), k (..., S, D), v (..., S, E) -> (..., T, E); scale > 0. The leading
/// axes of k and v are those of q, or 1 (heads in groups: q as (B, G, H / G, T, D), k and v with 1 instead of H / G);
/// padding that the mask hides is (B, S), or (1, S) for all texts. Holds the weights of a few queries at a time, and
/// those of some heads for its derivative, where a tape records; last bits may depend on that (kernels/attention.h has
/// the sources; nn/attention.h the same in small steps). Weights are dropped with probability `drop` < 1, as by
/// dropout().
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, double scale, double drop = 0,
                 Generator& generator = default_generator());
/// The same for texts of unequal length, one after another: q (H, N, D), k (H, M, D), v (H, M, E) -> (H, N, E). Text b
/// has the queries q_starts[b] to q_starts[b + 1] - 1 and the keys k_starts[b] to k_starts[b + 1] - 1; it sees none but
/// its own, and of them those that the mask of time shows.
Tensor packed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Ids& q_starts, const Ids& k_starts,
                        const Mask& mask, double scale, double drop = 0, Generator& generator = default_generator());

// ---- views (ops/views.cpp) ----
/// Shares memory. One size may be -1. Throws where the strides do not allow it; reshape copies there.
Tensor view(const Tensor& x, const Shape& shape);
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor permute(const Tensor& x, const std::vector<int>& axes);
Tensor transpose(const Tensor& x, int axis, int other);
/// Elements start, start + step, ... before `end`; negative ones count from the end, and both are clamped.
Tensor slice(const Tensor& x, int axis, int64_t start, int64_t end, int64_t step = 1);
/// One index of an axis, which disappears; a negative one counts from the end. Throws where there is no such index.
Tensor select(const Tensor& x, int axis, int64_t index);
/// Repeats axes of size 1 without copying; -1 keeps a size.
Tensor expand(const Tensor& x, const Shape& shape);
/// Without this axis if its size is 1, otherwise x.
Tensor squeeze(const Tensor& x, int axis);
Tensor unsqueeze(const Tensor& x, int axis);
/// The same numbers in new contiguous memory. What no gradient is to flow through is copied by copy_of() (tensor.h).
Tensor clone(const Tensor& x);
/// x itself if its elements lie in row-major order, else a copy that does.
Tensor contiguous(const Tensor& x);

// ---- gathering and joining (ops/gathering.cpp) ----
/// (..., a, ...), (..., b, ...), ... -> (..., a + b + ..., ...); all other sizes equal, and at least one part.
Tensor cat(const std::vector<Tensor>& parts, int axis);
/// n parts of one shape -> that shape with a new axis of size n, n > 0.
Tensor stack(const std::vector<Tensor>& parts, int axis);
/// Pieces of `length` along an axis, the last perhaps shorter; at least one. Views.
std::vector<Tensor> split(const Tensor& x, int64_t length, int axis);
/// Zeros of `shape`, with y written to the slice (start, start + step, ...) of an axis: slice's adjoint. (PyTorch's
/// slice_scatter writes into a copy of another tensor.)
Tensor slice_scatter(const Tensor& y, const Shape& shape, int axis, int64_t start, int64_t step = 1);
/// The elements of x that index names along an axis: index, and so the result, has x's shape but for that axis.
Tensor gather(const Tensor& x, int axis, const Ids& index);
/// y, shaped as index, added up along an axis of `size` where index says, into zeros: gather's adjoint. (PyTorch's adds
/// to another tensor; in both, its index may be smaller along the other axes.)
Tensor scatter_add(const Tensor& y, int axis, const Ids& index, int64_t size);
/// Row ids[...] of table (V, D) -> (..., D)
Tensor embedding(const Tensor& table, const Ids& ids);
/// Rows y (..., D) added up into zeros (V, D) at ids (...): embedding's adjoint.
Tensor embedding_sum(const Tensor& y, const Ids& ids, int64_t rows);

// ---- probabilities (ops/probabilities.cpp) ----
/// A row of nothing but -inf becomes zeros (PyTorch: NaN): whoever may look at nothing sees nothing.
Tensor softmax(const Tensor& x, int axis);
/// A row of nothing but -inf stays as it is (PyTorch: NaN).
Tensor log_softmax(const Tensor& x, int axis);

struct LossOptions {
  std::int32_t ignore_index = -100;  // targets that do not count
  /// The share of the target that is spread evenly over all classes. Szegedy et al.: "Rethinking the Inception
  /// architecture" (2016).
  double label_smoothing = 0;
};
/// Mean over the counted targets of -log_probs[target]; log_probs (..., classes), targets (...). 0 if none counts.
Tensor nll_loss(const Tensor& log_probs, const Ids& targets, const LossOptions& options = {});
/// nll_loss(log_softmax(logits), targets)
Tensor cross_entropy(const Tensor& logits, const Ids& targets, const LossOptions& options = {});

// ---- layers' inner parts ----
/// (x - mean) / sqrt(var + epsilon) weight + bias over the last axis; weight and bias (D), or both undefined. To that
/// a residual, shaped as x, may be added. NaN where var is too large for the dtype. Ba, Kiros, Hinton: "Layer
/// normalization" (2016). (ops/layer_norm.cpp)
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon = 1e-5,
                  const Tensor& residual = {});
/// Zeroes each element with probability p and divides the others by 1 - p. Srivastava et al.: "Dropout" (2014).
/// Which ones depends on the generator alone. (ops/dropout.cpp)
Tensor dropout(const Tensor& x, double p, Generator& generator = default_generator());

// ---- not differentiable ----
Ids argmax(const Tensor& x, int axis);
/// 1 where a > b, 0 elsewhere.
Ids gt(const Tensor& a, const Tensor& b);
/// 1 where a = b, 0 elsewhere.
Ids eq(const Tensor& a, const Tensor& b);
/// x += y; x contiguous. Throws where a tape records and a gradient flows to x or y. Where a derivative needs what x
/// held before, the backward pass will throw.
void add_in_place(const Tensor& x, const Tensor& y);

// ---- as operators ----
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);

}  // namespace reel
