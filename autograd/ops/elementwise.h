#pragma once
// What the elementwise operations share: broadcast the operands, make the result, run the loop.

#include <utility>

#include "autograd/error.h"
#include "autograd/kernels/map.h"
#include "autograd/tensor.h"

namespace reel {

inline void check_same_dtype(const char* operation, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) {
    fail(operation, ": operands are ", a.dtype(), " and ", b.dtype(), "; they must have one dtype");
  }
}

/// op(x, ...) of every element, into a new tensor; `op` is written on vectors.
template <class Op, class... Others>
Tensor map([[maybe_unused]] const char* operation, const Op& op, const Tensor& x, const Others&... others) {
  Shape shape = x.shape();
  ((check_same_dtype(operation, x, others), shape = broadcast(operation, shape, others.shape())), ...);
  Tensor result(shape, x.dtype());
  with_type(x.dtype(), [&]<class T>(T) {
    // The strides must outlive the operands, which only refer to them.
    auto run = [&](auto... operands) {
      kernels::map(shape, result.data<T>(), result.strides(), op,
                   kernels::Operand<T>{operands.first->template data<T>(), operands.second}...);
    };
    auto operand = [&](const Tensor& in) { return std::pair(&in, broadcast_strides(in.shape(), in.strides(), shape)); };
    run(operand(x), operand(others)...);
  });
  return result;
}

}  // namespace reel
