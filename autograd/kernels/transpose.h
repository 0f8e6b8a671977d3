#pragma once
// Rows into columns, a block at a time, by shuffles of whole vectors.

#include <algorithm>
#include <cstring>
#include <utility>

#include "autograd/kernels/simd.h"

namespace reel::kernels {

/// How many elements lie in 16 bytes, the unit within which every machine shuffles cheaply.
template <class T>
inline constexpr int64_t quad = 16 / static_cast<int64_t>(sizeof(T));

/// A block is what is transposed at once. It has a row for each lane, and half a vector of each row: vectors that are
/// loaded as two halves need one round of shuffles less. Where half a vector is less than 16 bytes, it has whole ones.
template <class T>
inline constexpr int64_t block_rows = lanes<T>;
template <class T>
inline constexpr int64_t block_columns = std::max(half_lanes<T>, quad<T>);

/// A vector of the compiler's, which can shuffle it.
template <class T>
using CompilerVec __attribute__((vector_size(sizeof(Vec<T>)))) = T;

/// In each Unit of elements, the lower (Upper: upper) halves of a and b, interleaved in runs of Run elements.
template <class T, int64_t Unit, int64_t Run, bool Upper>
CompilerVec<T> interleave(CompilerVec<T> a, CompilerVec<T> b) {
  constexpr auto source = [](int64_t lane) {
    const int64_t within = lane % Unit, run = within / Run;
    const int64_t from = lane - within + run / 2 * Run + within % Run + (Upper ? Unit / 2 : 0);
    return run % 2 == 0 ? from : lanes<T> + from;
  };
  return [&]<int64_t... Lane>(std::integer_sequence<int64_t, Lane...>) {
    return __builtin_shufflevector(a, b, source(Lane)...);
  }
  (std::make_integer_sequence<int64_t, lanes<T>>());
}

/// The sums of the lanes of x[0], ..., x[Count - 1], that of x[i] in lane i; Count = lanes. Less work than one by one.
template <class T, int64_t Count>
[[gnu::always_inline]] inline Vec<T> reduce_add_each(Vec<T> (&x)[Count]) {
  if constexpr (Count == 1) {
    return x[0];
  } else {
    // What is left of x[i] comes together in the lower half of each Count lanes, what is left of its partner above it.
    Vec<T> sums[Count / 2];
#pragma GCC unroll 8
    for (int64_t i = 0; i < Count / 2; ++i) {
      using Register = typename Vec<T>::register_type;
      const Register a = x[i], b = x[i + Count / 2];
      sums[i] = Vec<T>(Register(interleave<T, Count, Count / 2, false>(a, b))) +
                Vec<T>(Register(interleave<T, Count, Count / 2, true>(a, b)));
    }
    return reduce_add_each(sums);
  }
}

/// The lanes of Count vectors by turns, lane 0 of each of them first; Count is a power of 2.
template <class T, int64_t Count>
[[gnu::always_inline]] inline void interleave_each(Vec<T> (&x)[Count]) {
  if constexpr (Count > 1) {
    Vec<T> even[Count / 2], odd[Count / 2];
#pragma GCC unroll 8
    for (int64_t i = 0; i < Count / 2; ++i) {
      even[i] = x[2 * i];
      odd[i] = x[2 * i + 1];
    }
    interleave_each(even);
    interleave_each(odd);
#pragma GCC unroll 8
    for (int64_t i = 0; i < Count / 2; ++i) {
      using Register = typename Vec<T>::register_type;
      const Register a = even[i], b = odd[i];
      x[2 * i] = Vec<T>(Register(interleave<T, lanes<T>, 1, false>(a, b)));
      x[2 * i + 1] = Vec<T>(Register(interleave<T, lanes<T>, 1, true>(a, b)));
    }
  }
}

namespace detail {
template <class T, int64_t Unit, int64_t Run>
void interleave_both(CompilerVec<T>& a, CompilerVec<T>& b) {
  const CompilerVec<T> lower = interleave<T, Unit, Run, false>(a, b);
  b = interleave<T, Unit, Run, true>(a, b);
  a = lower;
}

template <class T>
CompilerVec<T> load_two_halves(const T* low_from, const T* high_from) {
  HalfVec<T> low, high;
  std::memcpy(&low, low_from, sizeof low);
  std::memcpy(&high, high_from, sizeof high);
  return [&]<int64_t... Lane>(std::integer_sequence<int64_t, Lane...>) {
    return __builtin_shufflevector(low, high, Lane...);
  }
  (std::make_integer_sequence<int64_t, lanes<T>>());
}
}  // namespace detail

/// to[p * to_stride + i] = from[i * from_stride + p] for i < block_rows<T>, p < block_columns<T>
template <class T>
[[gnu::always_inline]] inline void transpose_block(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  constexpr int64_t count = block_columns<T>;
  CompilerVec<T> x[count];
#pragma GCC unroll 8
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (count < lanes<T>) {
      x[i] = detail::load_two_halves(from + i * from_stride, from + (i + count) * from_stride);
    } else {
      std::memcpy(&x[i], from + i * from_stride, sizeof x[i]);
    }
  }
  if constexpr (count > quad<T>) {  // columns of one quad are brought together, as those of the other are
#pragma GCC unroll 8
    for (int64_t i = 0; i < quad<T>; ++i) detail::interleave_both<T, 2 * quad<T>, quad<T>>(x[i], x[i + quad<T>]);
  }
#pragma GCC unroll 8
  for (int64_t first = 0; first < count; first += quad<T>) {  // and each quad's rows become columns
    CompilerVec<T>* const rows = x + first;
    detail::interleave_both<T, quad<T>, 1>(rows[0], rows[1]);
    if constexpr (quad<T> == 4) {
      detail::interleave_both<T, 4, 1>(rows[2], rows[3]);
      detail::interleave_both<T, 4, 2>(rows[0], rows[2]);
      detail::interleave_both<T, 4, 2>(rows[1], rows[3]);
      std::swap(rows[1], rows[2]);
    }
  }
#pragma GCC unroll 8
  for (int64_t p = 0; p < count; ++p) std::memcpy(to + p * to_stride, &x[p], sizeof x[p]);
}

/// body(i) for all blocks of `size` among `count` >= size items; the last one may overlap the one before.
template <class Body>
void for_each_overlapping(int64_t count, int64_t size, const Body& body) {
  int64_t i = 0;
  for (; i + size <= count; i += size) body(i);
  if (i < count) body(count - size);
}

/// to[i * to_stride + j] = from[j * from_stride + i] for i < rows, j < columns; the two do not overlap.
template <class T>
void transpose(int64_t rows, int64_t columns, const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  if (rows < block_columns<T> || columns < block_rows<T>) {  // less than a block
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) to[i * to_stride + j] = from[j * from_stride + i];
    }
    return;
  }
  for_each_overlapping(rows, block_columns<T>, [&](int64_t i) {
    for_each_overlapping(columns, block_rows<T>, [&](int64_t j) {
      transpose_block(from + j * from_stride + i, from_stride, to + i * to_stride + j, to_stride);
    });
  });
}

}  // namespace reel::kernels
