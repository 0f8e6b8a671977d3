#pragma once
// What the elementwise operations share: broadcast the operands, make the result, run the loop; and the chain rule.

#include <utility>

#include "autograd/kernels/map.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "autograd/tensor.h"

namespace reel {

/// An operand of an elementwise loop, repeated to the loop's shape. One that lies transposed is copied: copy() writes
/// and reads whole lines of memory, where the loop would read a line for every number.
class Repeated {
 public:
  Repeated(const Tensor& x, const Shape& shape)
      : x_(is_transposed(x) ? copy_of(x) : x), strides_(broadcast_strides(x_.shape(), x_.strides(), shape)) {}

  /// As long as this lives.
  template <class T>
  kernels::Operand<T> as() const {
    return {x_.data<T>(), strides_};
  }

 private:
  static bool is_transposed(const Tensor& x) {
    int last = x.rank() - 1;
    while (last >= 0 && x.size(last) == 1) --last;
    return last >= 0 && x.stride(last) > 1 && kernels::dense_axis(x.shape(), x.strides()) >= 0;
  }

  Tensor x_;
  Strides strides_;
};

/// op(x, ...) of every element, into `result`, to which all operands broadcast and whose dtype they have. It is
/// contiguous, and may be one of them. `op` is written on vectors.
template <class Op, class... Xs>
void map_into(const Tensor& result, const Op& op, const Xs&... xs) {
  with_type(result.dtype(), [&]<class T>(T) {
    kernels::map(result.shape(), result.data<T>(), result.strides(), op,
                 Repeated(xs, result.shape()).template as<T>()...);
  });
}

/// The same into a new tensor.
template <class Op, class... Others>
Tensor map([[maybe_unused]] const char* operation, const Op& op, const Tensor& x, const Others&... others) {
  Shape shape = x.shape();
  ((check_same_dtype(operation, x, others), shape = broadcast(operation, shape, others.shape())), ...);
  Tensor result(shape, x.dtype());
  map_into(result, op, x, others...);
  return result;
}

/// A SIMD vector with the operators of a Tensor, so that one formula serves both:
/// [](const auto& x) { return x * (1.0 - x); }
template <class T>
struct Elements {
  kernels::Vec<T> vector;

  Elements(const kernels::Vec<T>& of) : vector(of) {}
  Elements(double number) : vector(static_cast<T>(number)) {}

  friend Elements operator-(const Elements& x) { return kernels::negate(x.vector); }
  friend Elements operator+(const Elements& a, const Elements& b) { return a.vector + b.vector; }
  friend Elements operator-(const Elements& a, const Elements& b) { return a.vector - b.vector; }
  friend Elements operator*(const Elements& a, const Elements& b) { return a.vector * b.vector; }
  friend Elements operator/(const Elements& a, const Elements& b) { return kernels::divide(a.vector, b.vector); }

  friend Elements sqrt(const Elements& x) { return kernels::sqrt(x.vector); }
  friend Elements exp(const Elements& x) { return kernels::exp(x.vector); }
  friend Elements log(const Elements& x) { return kernels::log(x.vector); }
  friend Elements abs(const Elements& x) { return kernels::abs(x.vector); }
  friend Elements sin(const Elements& x) { return kernels::sin(x.vector); }
  friend Elements cos(const Elements& x) { return kernels::cos(x.vector); }
  friend Elements tanh(const Elements& x) { return kernels::tanh(x.vector); }
  friend Elements erf(const Elements& x) { return kernels::erf(x.vector); }
  friend Elements sigmoid(const Elements& x) { return 1.0 / (1.0 + exp(-x)); }

  friend Elements sign(const Elements& x) {
    const Elements zero = 0.0, one = 1.0, minus_one = -1.0;
    return kernels::select(x.vector > zero.vector, one.vector,
                           kernels::select(x.vector < zero.vector, minus_one.vector, zero.vector));
  }

  /// A NaN in either stays.
  friend Elements maximum(const Elements& a, const Elements& b) {
    const auto &u = a.vector, &v = b.vector;
    return kernels::select(kernels::is_nan(u), u, kernels::select(u > v, u, v));
  }
};

/// A formula as map() wants it.
template <class Formula>
auto on_vectors(const Formula& formula) {
  return [formula](auto... vectors) { return formula(Elements(vectors)...).vector; };
}

/// op(dy, x) of every element: in the place of dy if nobody else sees it.
template <class Op>
Tensor map_over(const char* operation, Grads& grads, Tensor&& given, const Op& op, const Tensor& x) {
  // Taken over: this handle ends with the function. That of a parameter by value may live until the caller's statement
  // ends, and dx, written over dy, would not count as seen by one alone when it is added.
  const Tensor dy = std::move(given);
  if (dy.shape() != x.shape()) return map(operation, op, dy, x);
  check_same_dtype(operation, dy, x);
  Tensor dx = grads.in_place_of(dy);
  map_into(dx, op, dy, x);
  return dx;
}

/// The chain rule, dx = dy slope(x), in one loop; where a tape records, for second derivatives, in operations. dx may
/// be written over dy, if there is no other handle of it.
template <class Slope>
Tensor chain(Grads& grads, Tensor dy, const Slope& slope, const Tensor& x) {
  if (Tape::recording()) return dy * slope(x);
  auto product = [slope](const auto& v, const auto& u) { return v * slope(u); };
  return map_over("chain", grads, std::move(dy), on_vectors(product), x);
}

/// The derivative of y = max(x, 0), likewise: dx = dy where y > 0, else 0. Where y is NaN, dy passes, as in PyTorch.
Tensor through_relu(Grads& grads, Tensor dy, const Tensor& y);

}  // namespace reel
