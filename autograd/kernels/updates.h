#pragma once
// The optimizers' updates of one parameter, each in a single pass over memory, and the norm that clipping needs.
//
// Where the gradient is 0 throughout, as in most rows of a table (row_runs.h), a null pointer stands for it: no zeros
// have to be written and read.

#include <algorithm>
#include <vector>

#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {

namespace detail {

/// body(i, load, store) for the vectors of n numbers; load(p) and store(p, v) take what is left at the end.
template <class T, class Body>
void for_each_lane_group(int64_t n, const Body& body) {
  parallel_for(n, elements_per_chunk, [&](int64_t begin, int64_t end) {
    auto load_all = [](const T* p) { return load(p); };
    auto store_all = [](T* p, const Vec<T>& v) { store(p, v); };
    int64_t i = begin;
    for (; i + lanes<T> <= end; i += lanes<T>) body(i, load_all, store_all);
    const int64_t rest = end - i;
    auto load_rest = [rest](const T* p) { return load_n(p, rest); };
    auto store_rest = [rest](T* p, const Vec<T>& v) { store_n(p, v, rest); };
    if (rest > 0) body(i, load_rest, store_rest);
  });
}

}  // namespace detail

/// v = momentum v + g,   x = x - rate v,   with g = gradient + decay x. `velocity` may be null without momentum.
template <class T>
void sgd(int64_t n, T* x, const T* gradient, T* velocity, T rate, T momentum, T decay) {
  detail::for_each_lane_group<T>(n, [=](int64_t i, auto get, auto put) {
    const Vec<T> before = get(x + i);
    Vec<T> g = fma(before, splat(decay), gradient ? get(gradient + i) : splat(T(0)));
    if (velocity) {
      g = fma(get(velocity + i), splat(momentum), g);
      put(velocity + i, g);
    }
    put(x + i, Vec<T>(before - splat(rate) * g));
  });
}

/// What is the same for every number that Adam updates in one step.
template <class T>
struct AdamStep {
  T rate;          // the learning rate over 1 - β₁ᵗ
  T beta1, gain1;  // β₁ and 1 - β₁, rounded one by one: 1 - 0.999f is off by 1e-5
  T beta2, gain2;
  T root_scale;  // 1 / √(1 - β₂ᵗ)
  T epsilon;
  T gradient_decay;  // added to the gradient times x: Adam's L2 penalty
  T shrink;          // what x is multiplied by first: AdamW's decoupled decay
};

/// m = β₁ m + (1 - β₁) g,   v = β₂ v + (1 - β₂) g²,   x = shrink x - rate m / (√v root_scale + ε)
template <class T>
void adam(int64_t n, T* x, const T* gradient, T* m, T* v, const AdamStep<T>& step) {
  detail::for_each_lane_group<T>(n, [=](int64_t i, auto get, auto put) {
    const Vec<T> before = get(x + i);
    const Vec<T> g = fma(before, splat(step.gradient_decay), gradient ? get(gradient + i) : splat(T(0)));
    const Vec<T> first = fma(get(m + i), splat(step.beta1), g * splat(step.gain1));
    const Vec<T> second = fma(get(v + i), splat(step.beta2), g * g * splat(step.gain2));
    put(m + i, first);
    put(v + i, second);
    const Vec<T> root = fma(sqrt(second), splat(step.root_scale), splat(step.epsilon));
    put(x + i, Vec<T>(before * splat(step.shrink) - divide(Vec<T>(splat(step.rate) * first), root)));
  });
}

template <class T>
void scale(int64_t n, T* x, T factor) {
  detail::for_each_lane_group<T>(
      n, [=](int64_t i, auto get, auto put) { put(x + i, Vec<T>(get(x + i) * splat(factor))); });
}

/// Σ x², in f64: the squares of f32 would overflow from 1e19 on.
template <class T>
double sum_of_squares(int64_t n, const T* x) {
  constexpr int64_t piece = 16384;
  constexpr std::size_t chains = 16;
  const int64_t pieces = divide_up(n, piece);
  std::vector<double> partial(static_cast<std::size_t>(pieces));
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      double sums[chains] = {};
      const T* from = x + p * piece;
      const int64_t count = std::min(piece, n - p * piece);
      int64_t i = 0;
      for (; i + static_cast<int64_t>(chains) <= count; i += static_cast<int64_t>(chains)) {
        for (std::size_t c = 0; c < chains; ++c) {
          const double value = from[i + static_cast<int64_t>(c)];
          sums[c] += value * value;
        }
      }
      for (; i < count; ++i) sums[0] += static_cast<double>(from[i]) * static_cast<double>(from[i]);
      for (double sum : sums) partial[static_cast<std::size_t>(p)] += sum;
    }
  });
  double total = 0;
  for (double sum : partial) total += sum;
  return total;
}

}  // namespace reel::kernels
