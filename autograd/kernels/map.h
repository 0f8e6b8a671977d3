#pragma once
// Elementwise loops: out = op(a, b, ...) for any shape, strides and operand types.
//
// The operation is written once, on vectors: [](auto a, auto b) { return a * b; }. An operand that does not lie densely
// in a row (a transposed one, one of integers) is first gathered, block by block, into a buffer that stays in the first
// cache; one that is the same all along is read as one vector again and again. So there is one inner loop whatever the
// strides; where nothing is gathered, it goes through as much of a row as a thread takes at once. The last vector of a
// row is a partial one through the same operation: a value does not depend on where in the row it stands.

#include <algorithm>
#include <type_traits>
#include <utility>

#include "autograd/kernels/copy.h"
#include "autograd/kernels/nest.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {

/// One input: its first element and its strides along the axes of the result.
template <class T>
struct Operand {
  const T* data;
  Sizes strides;
};

namespace detail {

constexpr int64_t block_length = 1024;  // elements: a few buffers of it fit the first cache

/// An operand as the inner loop reads it: vectors `step` elements apart.
template <class T>
struct Vectors {
  const T* next;
  int64_t step = lanes<T>;
};

/// Whether vectors_of() gathers the row's elements.
template <class T, class In>
bool needs_buffer(int64_t stride) {
  return stride != 0 && !(stride == 1 && std::is_same_v<T, In>);
}

/// `n` elements as vectors: those of the operand itself where it is dense, else of `buffer`.
template <class T, class In>
Vectors<T> vectors_of(const In* in, int64_t stride, int64_t n, T* buffer) {
  if constexpr (std::is_same_v<T, In>) {
    if (stride == 1) return {in};
  }
  if (stride == 0) {
    store(buffer, splat(static_cast<T>(*in)));
    return {buffer, 0};
  }
  copy_row(n, in, stride, buffer, 1);
  return {buffer};
}

/// `op` is a copy: what it captures then stays in registers, whatever is stored meanwhile.
template <class T, class Op, class... In>
void map_vectors(T* out, int64_t n, Op op, In... in) {
  int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) {
    store(out + i, Vec<T>(op(load(in.next)...)));
    ((in.next += in.step), ...);
  }
  if (i < n) store_n(out + i, Vec<T>(op(load_n(in.next, n - i)...)), n - i);
}

}  // namespace detail

/// out[i] = op(in[i]...) for every index i of `sizes`. `out` is contiguous, with these strides, and may be one of the
/// operands if that one is contiguous too. Operands of another type are converted.
template <class T, class Op, class... In>
void map(Sizes sizes, T* out, Sizes out_strides, const Op& op, Operand<In>... in) {
  const Nest<1 + sizeof...(In)> nest(sizes, {out_strides, in.strides...});
  [&]<std::size_t... k>(std::index_sequence<k...>) {  // of each operand
    const bool gathers = (detail::needs_buffer<T, In>(nest.row_stride(k + 1)) || ...);
    const int64_t longest = gathers ? detail::block_length : elements_per_chunk;
    for_each_piece(nest, longest, elements_per_chunk, [&](const auto& offsets, int64_t count) {
      T buffers[sizeof...(In)][detail::block_length];
      detail::map_vectors<T>(
          out + offsets[0], count, op,
          detail::vectors_of<T>(in.data + offsets[k + 1], nest.row_stride(k + 1), count, buffers[k])...);
    });
  }
  (std::index_sequence_for<In...>{});
}

}  // namespace reel::kernels
