#pragma once
// Moving rows and elements to where indices point, and adding them up there.

#include <algorithm>
#include <cstdint>

#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {

/// out[n, :] = table[ids[n], :] for n < count rows of `width`.
template <class T>
void gather_rows(int64_t count, int64_t width, const T* table, const std::int32_t* ids, T* out) {
  parallel_for(count, grain_for(width), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) std::copy_n(table + ids[n] * width, width, out + n * width);
  });
}

/// table[ids[n], :] += rows[n, :]. Threads share the columns, not the rows: two rows may have one id, and each sum
/// keeps the order of n.
template <class T>
void scatter_add_rows(int64_t count, int64_t width, const T* rows, const std::int32_t* ids, T* table) {
  const int64_t strips = divide_up(width, lanes<T>);
  parallel_for(strips, grain_for(count * lanes<T>, elements_per_chunk / 2), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * lanes<T>, last = std::min(width, end * lanes<T>);
    for (int64_t n = 0; n < count; ++n) {
      T* to = table + ids[n] * width;
      const T* from = rows + n * width;
      for (int64_t i = first; i < last; ++i) to[i] += from[i];
    }
  });
}

// The next two run on one thread: they serve losses and maxima, which pick one number out of each row.

/// out[o, j, i] = x[o, index[o, j, i], i] for x (outer, size, inner) and out (outer, count, inner).
template <class T>
void gather(int64_t outer, int64_t size, int64_t count, int64_t inner, const T* x, const std::int32_t* index, T* out) {
  for (int64_t row = 0; row < outer * count; ++row) {
    const T* from = x + row / count * size * inner;
    for (int64_t i = 0; i < inner; ++i) *out++ = from[*index++ * inner + i];
  }
}

/// out[o, index[o, j, i], i] += y[o, j, i] for out (outer, size, inner) and y (outer, count, inner).
template <class T>
void scatter_add(int64_t outer, int64_t size, int64_t count, int64_t inner, const T* y, const std::int32_t* index,
                 T* out) {
  for (int64_t row = 0; row < outer * count; ++row) {
    T* to = out + row / count * size * inner;
    for (int64_t i = 0; i < inner; ++i) to[*index++ * inner + i] += *y++;
  }
}

}  // namespace reel::kernels
