#pragma once
// Layer normalization over rows of n adjacent numbers, and its derivative, each in one pass over memory.

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/kernels/buffer.h"
#include "autograd/kernels/machine.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/rows.h"

namespace reel::kernels {

/// y = (x - mean) rstd weight + bias + residual; keeps each row's mean and rstd = 1 / sqrt(variance + epsilon).
/// weight and bias may both be null, for 1 and 0, and so may the residual.
template <class T>
void layer_norm(int64_t rows, int64_t n, const T* x, const T* weight, const T* bias, T epsilon, const T* residual, T* y,
                T* mean, T* rstd) {
  constexpr T infinity = std::numeric_limits<T>::infinity(), not_a_number = std::numeric_limits<T>::quiet_NaN();
  const T length = static_cast<T>(n);
  for_each_row(rows, n, [&](int64_t r) {
    const T* row = x + r * n;
    // Measured from one of them, numbers far from zero lose no digits in their sum, and equal ones are all 0.
    const T first = n > 0 ? row[0] : T(0);
    const T distances = sum_vectors<T>(
        n, [&](int64_t i, int64_t count) { return Vec<T>(load_part(row + i, count, first) - splat(first)); });
    const T center = first + distances / length;
    const T squares = sum_vectors<T>(n, [&](int64_t i, int64_t count) {
      const Vec<T> d = load_part(row + i, count, center) - splat(center);
      return d * d;
    });
    // Infinite squares would leave zeros: a row that has gone astray, but looks sound.
    const T scale = squares < infinity ? 1 / std::sqrt(squares / length + epsilon) : not_a_number;
    for_each_vector<T>(n, [&](int64_t i, int64_t count) {
      Vec<T> value = (load_part(row + i, count) - splat(center)) * splat(scale);
      if (weight) value = fma(value, load_part(weight + i, count), load_part(bias + i, count));
      if (residual) value += load_part(residual + r * n + i, count);
      store_part(y + r * n + i, value, count);
    });
    mean[r] = center;
    rstd[r] = scale;
  });
}

/// With x̂ = (x - mean) rstd and dx̂ = dy weight:
///   dx = rstd (dx̂ - mean(dx̂) - x̂ mean(dx̂ x̂)),   dweight = Σ dy x̂,   dbias = Σ dy
/// dweight and dbias (n) are left alone without weight; dx may be dy.
template <class T>
void layer_norm_backward(int64_t rows, int64_t n, const T* x, const T* weight, const T* mean, const T* rstd,
                         const T* dy, T* dx, T* dweight, T* dbias) {
  constexpr int64_t ahead = 2 * page / static_cast<int64_t>(sizeof(T));  // by itself a processor looks ahead within one
  const T share = T(1) / static_cast<T>(n);
  // A piece is worth a thread. It has 8 rows or more, and there are 64 at most, so that their sums cost little.
  const int64_t piece_rows = std::max({int64_t{8}, grain_for(n, elements_per_chunk / 2), divide_up(rows, 64)});
  const int64_t pieces = weight ? divide_up(rows, piece_rows) : 0;
  thread_local Buffer<T> buffer;
  T* const sums = buffer.room(2 * pieces * n);  // dweight and dbias of each piece
  parallel_for(rows, piece_rows, [&](int64_t begin, int64_t end) {
    T* const dw = weight ? sums + begin / piece_rows * 2 * n : nullptr;
    T* const db = weight ? dw + n : nullptr;
    if (weight) std::fill_n(dw, 2 * n, T(0));
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x + r * n;
      const T* drow = dy + r * n;
      const Vec<T> center(mean[r]), scale(rstd[r]);
      Vec<T> sum(T(0)), product(T(0));
      for_each_vector<T>(n, [&](int64_t i, int64_t count) {
        __builtin_prefetch(row + i + ahead, 0, 3);
        __builtin_prefetch(drow + i + ahead, 0, 3);
        const Vec<T> xhat = (load_part(row + i, count) - center) * scale;
        Vec<T> d = load_part(drow + i, count);  // 0 past the row's end
        if (weight) {
          store_part(dw + i, fma(d, xhat, load_part(dw + i, count)), count);
          store_part(db + i, Vec<T>(d + load_part(db + i, count)), count);
          d = d * load_part(weight + i, count);
        }
        sum += d;
        product = fma(d, xhat, product);
      });
      const Vec<T> mean_d(reduce_add(sum) * share), mean_dx(reduce_add(product) * share);
      for_each_vector<T>(n, [&](int64_t i, int64_t count) {
        const Vec<T> xhat = (load_part(row + i, count) - center) * scale;
        Vec<T> d = load_part(drow + i, count);
        if (weight) d = d * load_part(weight + i, count);
        store_part(dx + r * n + i, Vec<T>(scale * (d - mean_d - xhat * mean_dx)), count);
      });
    }
  });
  if (!weight) return;
  for_each_vector<T>(n, [&](int64_t i, int64_t count) {
    Vec<T> dw(T(0)), db(T(0));
    for (int64_t p = 0; p < pieces; ++p) {
      const T* const piece = sums + 2 * p * n;  // dweight, then dbias
      dw += load_part(piece + i, count);
      db += load_part(piece + n + i, count);
    }
    store_part(dweight + i, dw, count);
    store_part(dbias + i, db, count);
  });
}

}  // namespace reel::kernels
