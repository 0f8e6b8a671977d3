#pragma once
// Cross entropy of rows of n logits with one right class each, without ever writing the probabilities down:
//
//     loss = -Σ q log p,   p = softmax(x),   q = (1 - smoothing) at the target, and smoothing / n at every class
//     dx = p - q

#include <algorithm>
#include <cmath>

#include "autograd/kernels/reduce.h"
#include "autograd/kernels/softmax.h"

namespace reel::kernels {

/// The loss of each row, and the two numbers that the backward pass needs to know its probabilities: the largest logit,
/// and the inverse of Σ e^(x - largest). A row that is not counted has the loss 0.
template <class T>
void cross_entropy(int64_t rows, int64_t n, const T* x, const std::int32_t* targets, const std::int32_t* counted,
                   T smoothing, T* losses, T* row_stats) {
  for_each_row(rows, n, [&](int64_t r) {
    const T* row = x + r * n;
    const T largest = detail::max_row(row, n);
    if (!counted[r] || largest == detail::minus_infinity<T>) {
      losses[r] = counted[r] ? -detail::sum_row(row, n) : T(0);  // of -inf alone inf, with NaN among them NaN
      row_stats[2 * r] = 0;
      row_stats[2 * r + 1] = std::isnan(losses[r]) ? losses[r] : T(0);
      return;
    }
    const T total = detail::exp_row<T>(row, n, largest, nullptr);
    T gain = row[targets[r]] - largest;  // relative to the largest, which would swallow the digits of log(total)
    if (smoothing > 0) {
      Vec<T> gains(T(0));
      for_each_vector<T>(
          n, [&](int64_t i, int64_t count) { gains += load_part(row + i, count, largest) - splat(largest); });
      gain = (1 - smoothing) * gain + smoothing * reduce_add(gains) / static_cast<T>(n);
    }
    losses[r] = std::log(total) - gain;
    row_stats[2 * r] = largest;
    row_stats[2 * r + 1] = 1 / total;
  });
}

/// dx = scale (p - q), 0 in rows that are not counted; dx may be x
template <class T>
void cross_entropy_backward(int64_t rows, int64_t n, const T* x, const std::int32_t* targets,
                            const std::int32_t* counted, T smoothing, const T* row_stats, T scale, T* dx) {
  for_each_row(rows, n, [&](int64_t r) {
    const T* row = x + r * n;
    T* to = dx + r * n;
    if (!counted[r]) {
      std::fill_n(to, n, T(0));
      return;
    }
    const Vec<T> largest(row_stats[2 * r]), factor(scale * row_stats[2 * r + 1]);
    const Vec<T> everywhere(scale * smoothing / static_cast<T>(n));
    for_each_vector<T>(n, [&](int64_t i, int64_t count) {
      const Vec<T> e = exp(Vec<T>(load_part(row + i, count) - largest));
      store_part(to + i, Vec<T>(e * factor - everywhere), count);
    });
    to[targets[r]] -= scale * (1 - smoothing);
  });
}

}  // namespace reel::kernels
