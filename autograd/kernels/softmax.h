#pragma once
// Softmax over rows of n adjacent numbers: y = e^(x - max) / Σ e^(x - max).

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {

namespace detail {

template <class T>
constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

template <class T>
T max_row(const T* x, int64_t n) {
  Vec<T> largest(minus_infinity<T>);
  int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) largest = max(load(x + i), largest);
  if (i < n) largest = max(load_n(x + i, n - i, minus_infinity<T>), largest);
  return reduce_max(largest);
}

/// The sum of e^(x - shift) over a row; each term also goes to y, unless y is null.
template <class T>
T exp_row(const T* x, int64_t n, T shift, T* y) {
  Vec<T> total(T(0));
  int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) {
    const Vec<T> e = exp(Vec<T>(load(x + i) - splat(shift)));
    if (y) store(y + i, e);
    total += e;
  }
  if (i < n) {
    const Vec<T> e = exp(Vec<T>(load_n(x + i, n - i, minus_infinity<T>) - splat(shift)));
    if (y) store_n(y + i, e, n - i);
    total += e;
  }
  return reduce_add(total);
}

template <class Row>
void for_each_row(int64_t rows, int64_t n, const Row& row) {
  parallel_for(rows, std::max<int64_t>(1, 8192 / std::max(n, int64_t{1})), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) row(r * n);
  });
}

}  // namespace detail

/// A row of nothing but -inf becomes zeros.
template <class T>
void softmax(int64_t rows, int64_t n, const T* x, T* y) {
  detail::for_each_row(rows, n, [&](int64_t start) {
    const T largest = detail::max_row(x + start, n);  // subtracted, or exp would overflow
    if (largest == detail::minus_infinity<T>) {       // all are -inf or NaN, which stays
      std::replace_copy(x + start, x + start + n, y + start, largest, T(0));
      return;
    }
    const T scale = 1 / detail::exp_row(x + start, n, largest, y + start);
    for (int64_t i = 0; i < n; ++i) y[start + i] *= scale;
  });
}

/// log softmax: y = x - max - log Σ e^(x - max). A row of nothing but -inf stays as it is.
template <class T>
void log_softmax(int64_t rows, int64_t n, const T* x, T* y) {
  detail::for_each_row(rows, n, [&](int64_t start) {
    T largest = detail::max_row(x + start, n), log_total = 0;
    if (largest == detail::minus_infinity<T>) {
      largest = 0;
    } else {
      log_total = std::log(detail::exp_row<T>(x + start, n, largest, nullptr));
    }
    // In this order: a large maximum would swallow the digits of log_total.
    for (int64_t i = 0; i < n; ++i) y[start + i] = (x[start + i] - largest) - log_total;
  });
}

}  // namespace reel::kernels
