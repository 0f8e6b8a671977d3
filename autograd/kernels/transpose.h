#pragma once
// Rows into columns, a few at a time, by shuffles of whole vectors.

#include <algorithm>
#include <cstring>
#include <utility>

#include "autograd/kernels/simd.h"

namespace reel::kernels {

/// How many elements lie in 16 bytes, the unit within which every machine shuffles cheaply.
template <class T>
inline constexpr int64_t quad = 16 / static_cast<int64_t>(sizeof(T));

/// How many rows are transposed at once: one for each lane, but no more than the first cache has places for lines whose
/// addresses agree in their last 12 bits.
template <class T>
inline constexpr int64_t rows_at_once = std::min<int64_t>(lanes<T>, 8);

namespace detail {
/// 16 bytes from each of Count addresses, `step` addresses apart, as one vector of the compiler's.
template <int64_t Count, class T>
auto load_quads(const T* const* from, int64_t step, int64_t offset) {
  if constexpr (Count == 1) {
    T values __attribute__((vector_size(16)));
    std::memcpy(&values, *from + offset, sizeof values);
    return values;
  } else {
    auto low = load_quads<Count / 2>(from, step, offset);
    auto high = load_quads<Count / 2>(from + Count / 2 * step, step, offset);
    return [&]<int64_t... I>(std::integer_sequence<int64_t, I...>) { return __builtin_shufflevector(low, high, I...); }
    (std::make_integer_sequence<int64_t, Count * quad<T>>());
  }
}

/// In each 16 bytes, the lower (Upper: upper) halves of a and b, interleaved in runs of Run elements.
template <class T, int64_t Run, bool Upper, class Vector>
Vector interleave(Vector a, Vector b) {
  constexpr int64_t count = sizeof(Vector) / sizeof(T);
  constexpr auto source = [](int64_t lane) {
    const int64_t within = lane % quad<T>, run = within / Run;
    const int64_t from = lane - within + run / 2 * Run + within % Run + (Upper ? quad<T> / 2 : 0);
    return run % 2 == 0 ? from : count + from;
  };
  return [&]<int64_t... Lane>(std::integer_sequence<int64_t, Lane...>) {
    return __builtin_shufflevector(a, b, source(Lane)...);
  }
  (std::make_integer_sequence<int64_t, count>());
}
}  // namespace detail

/// to[p * stride + i] = from[i][offset + p] for p < quad<T>, i < rows_at_once<T>
template <class T>
void transpose_quads(const T* const* from, int64_t offset, T* to, int64_t stride) {
  auto rows = [&](int64_t i) { return detail::load_quads<rows_at_once<T> / quad<T>>(from + i, quad<T>, offset); };
  auto write = [&](int64_t p, auto column) { std::memcpy(to + p * stride, &column, sizeof column); };
  if constexpr (quad<T> == 2) {
    const auto row0 = rows(0), row1 = rows(1);
    write(0, detail::interleave<T, 1, false>(row0, row1));
    write(1, detail::interleave<T, 1, true>(row0, row1));
  } else {
    const auto row0 = rows(0), row1 = rows(1), row2 = rows(2), row3 = rows(3);
    const auto low01 = detail::interleave<T, 1, false>(row0, row1), low23 = detail::interleave<T, 1, false>(row2, row3);
    const auto high01 = detail::interleave<T, 1, true>(row0, row1), high23 = detail::interleave<T, 1, true>(row2, row3);
    write(0, detail::interleave<T, 2, false>(low01, low23));
    write(1, detail::interleave<T, 2, true>(low01, low23));
    write(2, detail::interleave<T, 2, false>(high01, high23));
    write(3, detail::interleave<T, 2, true>(high01, high23));
  }
}

}  // namespace reel::kernels
