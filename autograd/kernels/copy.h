#pragma once
// Copies between any two layouts of one shape, converting the type on the way. Where one is dense along one axis and
// the other along another, small squares are transposed in registers, so that both are read and written in whole lines.

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "autograd/kernels/machine.h"
#include "autograd/kernels/nest.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/rows.h"
#include "autograd/kernels/transpose.h"

namespace reel::kernels {

namespace detail {

/// The library's way is the fastest for what is long, but takes a third longer for rows of 2 KiB from beyond the second
/// cache.
template <class T>
void copy_dense(int64_t n, const T* from, T* to) {
  constexpr int64_t is_long = 1024;
  if (n > is_long) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else {
    for_each_vector<T>(n, [&](int64_t i, int64_t count) { store_part(to + i, load_part(from + i, count), count); });
  }
}

template <class From, class To>
void copy_row(int64_t n, const From* from, int64_t from_step, To* to, int64_t to_step) {
  if constexpr (std::is_same_v<From, To>) {
    if (from_step == 1 && to_step == 1) return copy_dense(n, from, to);
  }
  if (from_step == 0 && to_step == 1) {
    std::fill_n(to, n, static_cast<To>(*from));
  } else if (to_step == 1) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i * from_step]);
  } else {
#pragma GCC unroll 8
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = static_cast<To>(from[i * from_step]);
  }
}

/// Copies what lies densely along one axis to where another one is dense, in strips, so that lines are written whole.
template <class T>
void copy_transposed(Sizes sizes, int from_axis, int to_axis, const T* from, Sizes from_strides, T* to,
                     Sizes to_strides) {
  const auto across = static_cast<std::size_t>(from_axis), along = static_cast<std::size_t>(to_axis);
  const int64_t rows = sizes[across], columns = sizes[along], strips = divide_up(columns, line<T>);
  std::vector<int64_t> others(sizes.begin(), sizes.end());
  others[across] = others[along] = 1;
  const Nest<2> nest(others, {from_strides, to_strides});
  const int64_t row_length = nest.row_length();
  parallel_for(nest.rows() * row_length * strips, grain_for(rows * line<T>), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t matrix = unit / strips, column = unit % strips * line<T>;
      const auto [source, target] = nest.offsets(matrix / row_length);
      const int64_t place = matrix % row_length;
      transpose(rows, std::min(columns - column, line<T>),
                from + source + place * nest.row_stride(0) + column * from_strides[along], from_strides[along],
                to + target + place * nest.row_stride(1) + column, to_strides[across]);
    }
  });
}

}  // namespace detail

template <class From, class To>
void copy(Sizes sizes, const From* from, Sizes from_strides, To* to, Sizes to_strides) {
  if constexpr (std::is_same_v<From, To>) {
    const int from_axis = dense_axis(sizes, from_strides), to_axis = dense_axis(sizes, to_strides);
    const bool both = from_axis >= 0 && to_axis >= 0 && from_axis != to_axis;
    if (both && from_strides[static_cast<std::size_t>(to_axis)] != 0) {  // 0: rows of one number each
      return detail::copy_transposed(sizes, from_axis, to_axis, from, from_strides, to, to_strides);
    }
  }
  const Nest<2> nest(sizes, {from_strides, to_strides});
  for_each_piece(nest, copies_per_chunk, copies_per_chunk, [&](const auto& offsets, int64_t count) {
    detail::copy_row(count, from + offsets[0], nest.row_stride(0), to + offsets[1], nest.row_stride(1));
  });
}

}  // namespace reel::kernels
