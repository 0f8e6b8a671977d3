#pragma once
// Layer normalization over rows of n adjacent numbers, and its derivative, each in one pass over memory.

#include <algorithm>
#include <cmath>

#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {

namespace detail {

/// Walks a row in whole vectors and a last partial one: body(i, count).
template <class T, class Body>
void for_each_vector(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) body(i, lanes<T>);
  if (i < n) body(i, n - i);
}

template <class T>
Vec<T> load_part(const T* from, int64_t count) {
  return count == lanes<T> ? load(from) : load_n(from, count);
}

template <class T>
void store_part(T* to, const Vec<T>& x, int64_t count) {
  count == lanes<T> ? store(to, x) : store_n(to, x, count);
}

/// Few enough rows to keep two threads busy, many enough that their sums of gradients are cheap to add up.
constexpr int64_t rows_per_chunk = 32;

}  // namespace detail

/// y = (x - mean) rstd weight + bias; keeps each row's mean and rstd = 1 / sqrt(variance + epsilon).
/// weight and bias may both be null, for 1 and 0.
template <class T>
void layer_norm(int64_t rows, int64_t n, const T* x, const T* weight, const T* bias, T epsilon, T* y, T* mean,
                T* rstd) {
  const T share = T(1) / static_cast<T>(n);
  parallel_for(rows, detail::rows_per_chunk, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x + r * n;
      Vec<T> sum(T(0)), squares(T(0));
      detail::for_each_vector<T>(n, [&](int64_t i, int64_t count) { sum += detail::load_part(row + i, count); });
      const T center = reduce_add(sum) * share;
      detail::for_each_vector<T>(n, [&](int64_t i, int64_t count) {
        const Vec<T> d = (count == lanes<T> ? load(row + i) : load_n(row + i, count, center)) - splat(center);
        squares = fma(d, d, squares);
      });
      const T scale = 1 / std::sqrt(reduce_add(squares) * share + epsilon);
      detail::for_each_vector<T>(n, [&](int64_t i, int64_t count) {
        Vec<T> value = (detail::load_part(row + i, count) - splat(center)) * splat(scale);
        if (weight) value = fma(value, detail::load_part(weight + i, count), detail::load_part(bias + i, count));
        detail::store_part(y + r * n + i, value, count);
      });
      mean[r] = center;
      rstd[r] = scale;
    }
  });
}

/// How many pieces layer_norm_backward sums dweight and dbias in.
inline int64_t layer_norm_pieces(int64_t rows) { return (rows + detail::rows_per_chunk - 1) / detail::rows_per_chunk; }

/// With x̂ = (x - mean) rstd and dx̂ = dy weight:
///   dx = rstd (dx̂ - mean(dx̂) - x̂ mean(dx̂ x̂)),   dweight = Σ dy x̂,   dbias = Σ dy
/// The sums over rows come in pieces of a fixed number of rows: dweight and dbias are (pieces, n); null without weight.
template <class T>
void layer_norm_backward(int64_t rows, int64_t n, const T* x, const T* weight, const T* mean, const T* rstd,
                         const T* dy, T* dx, T* dweight, T* dbias) {
  const T share = T(1) / static_cast<T>(n);
  parallel_for(rows, detail::rows_per_chunk, [&](int64_t begin, int64_t end) {
    T* dw = nullptr;
    T* db = nullptr;
    if (weight) {
      dw = dweight + begin / detail::rows_per_chunk * n;
      db = dbias + begin / detail::rows_per_chunk * n;
      std::fill_n(dw, n, T(0));
      std::fill_n(db, n, T(0));
    }
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x + r * n;
      const T* drow = dy + r * n;
      const Vec<T> center(mean[r]), scale(rstd[r]);
      Vec<T> sum(T(0)), product(T(0));
      detail::for_each_vector<T>(n, [&](int64_t i, int64_t count) {
        const Vec<T> xhat = (detail::load_part(row + i, count) - center) * scale;
        Vec<T> d = detail::load_part(drow + i, count);  // 0 past the row's end
        if (weight) {
          detail::store_part(dw + i, fma(d, xhat, detail::load_part(dw + i, count)), count);
          detail::store_part(db + i, Vec<T>(d + detail::load_part(db + i, count)), count);
          d = d * detail::load_part(weight + i, count);
        }
        sum += d;
        product = fma(d, xhat, product);
      });
      const Vec<T> mean_d(reduce_add(sum) * share), mean_dx(reduce_add(product) * share);
      detail::for_each_vector<T>(n, [&](int64_t i, int64_t count) {
        const Vec<T> xhat = (detail::load_part(row + i, count) - center) * scale;
        Vec<T> d = detail::load_part(drow + i, count);
        if (weight) d = d * detail::load_part(weight + i, count);
        detail::store_part(dx + r * n + i, Vec<T>(scale * (d - mean_d - xhat * mean_dx)), count);
      });
    }
  });
}

}  // namespace reel::kernels
