#pragma once
// Softmax over rows of n adjacent numbers: y = e^(x - max) / Σ e^(x - max), its logarithm, and their derivatives.

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/kernels/rows.h"

namespace reel::kernels {

namespace detail {

template <class T>
constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

template <class T>
T max_row(const T* x, int64_t n) {
  Vec<T> largest(minus_infinity<T>);
  for_each_vector<T>(
      n, [&](int64_t i, int64_t count) { largest = max(load_part(x + i, count, minus_infinity<T>), largest); });
  return reduce_max(largest);
}

/// The sum of e^(x - shift) over a row; each term also goes to y, unless y is null.
template <class T>
T exp_row(const T* x, int64_t n, T shift, T* y) {
  Vec<T> total(T(0));
  for_each_vector<T>(n, [&](int64_t i, int64_t count) {
    const Vec<T> e = exp(Vec<T>(load_part(x + i, count, minus_infinity<T>) - splat(shift)));
    if (y) store_part(y + i, e, count);
    total += e;
  });
  return reduce_add(total);
}

/// Whether a row that has nothing above -inf has a NaN.
template <class T>
bool has_nan(const T* row, int64_t n) {
  return std::any_of(row, row + n, [](T x) { return std::isnan(x); });
}

}  // namespace detail

/// A row of nothing but -inf becomes zeros; one with a NaN is NaN throughout.
template <class T>
void softmax(int64_t rows, int64_t n, const T* x, T* y) {
  for_each_row(rows, n, [&](int64_t r) {
    const T* from = x + r * n;
    T* to = y + r * n;
    const T largest = detail::max_row(from, n);  // subtracted, or exp would overflow
    if (largest == detail::minus_infinity<T>) {
      std::fill_n(to, n, detail::has_nan(from, n) ? std::numeric_limits<T>::quiet_NaN() : T(0));
      return;
    }
    const T scale = 1 / detail::exp_row(from, n, largest, to);
    for (int64_t i = 0; i < n; ++i) to[i] *= scale;
  });
}

/// dx = y (dy - Σ dy y)
template <class T>
void softmax_backward(int64_t rows, int64_t n, const T* y, const T* dy, T* dx) {
  for_each_row(rows, n, [&](int64_t r) {
    const T *weights = y + r * n, *gradients = dy + r * n;
    const Vec<T> total(dot(n, weights, gradients));
    for_each_vector<T>(n, [&](int64_t i, int64_t count) {
      const Vec<T> d = load_part(weights + i, count) * (load_part(gradients + i, count) - total);
      store_part(dx + r * n + i, d, count);
    });
  });
}

/// log softmax: y = x - max - log Σ e^(x - max). A row of nothing but -inf stays as it is.
template <class T>
void log_softmax(int64_t rows, int64_t n, const T* x, T* y) {
  for_each_row(rows, n, [&](int64_t r) {
    const T* from = x + r * n;
    T largest = detail::max_row(from, n), log_total = 0;
    if (largest == detail::minus_infinity<T>) {
      largest = detail::has_nan(from, n) ? std::numeric_limits<T>::quiet_NaN() : T(0);
    } else {
      log_total = std::log(detail::exp_row<T>(from, n, largest, nullptr));
    }
    // In this order: a large maximum would swallow the digits of log_total.
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = (from[i] - largest) - log_total;
  });
}

/// dx = dy - e^y Σ dy
template <class T>
void log_softmax_backward(int64_t rows, int64_t n, const T* y, const T* dy, T* dx) {
  for_each_row(rows, n, [&](int64_t r) {
    const T *logs = y + r * n, *gradients = dy + r * n;
    const Vec<T> total(sum_vectors<T>(n, [&](int64_t i, int64_t count) { return load_part(gradients + i, count); }));
    for_each_vector<T>(n, [&](int64_t i, int64_t count) {
      const Vec<T> d = load_part(gradients + i, count) - exp(load_part(logs + i, count)) * total;
      store_part(dx + r * n + i, d, count);
    });
  });
}

}  // namespace reel::kernels
