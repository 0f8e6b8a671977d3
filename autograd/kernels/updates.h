#pragma once
// The optimizers' updates of one parameter, each in a single pass over memory, and the norm that clipping needs.
//
// Where the gradient is 0 throughout, as in most rows of a table (row_runs.h), a null pointer stands for it: no zeros
// have to be written and read.
//
// Sums of products are fma(), not left to compilers: a null pointer must change no bit.
//
// Loops capture copies: these stay in registers, whatever is stored meanwhile.

#include <algorithm>
#include <vector>

#include "autograd/kernels/parallel.h"
#include "autograd/kernels/rows.h"

namespace reel::kernels {

/// The gradient of numbers x that decay. Where they do not, they may be infinite.
template <class T>
Vec<T> decayed(const Vec<T>& gradient, const Vec<T>& x, T decay) {
  return decay == 0 ? gradient : fma(x, splat(decay), gradient);
}

/// v = momentum v + g,   x = x - rate v,   with g = gradient + decay x. `velocity` may be null without momentum.
template <class T>
void sgd(int64_t n, T* x, const T* gradient, T* velocity, T rate, T momentum, T decay) {
  parallel_for(n, elements_per_chunk, [=](int64_t begin, int64_t end) {
    for_each_vector<T>(end - begin, [=](int64_t offset, int64_t count) {
      const int64_t i = begin + offset;
      const Vec<T> before = load_part(x + i, count);
      Vec<T> g = decayed(gradient ? load_part(gradient + i, count) : splat(T(0)), before, decay);
      if (velocity) {
        g = fma(load_part(velocity + i, count), splat(momentum), g);
        store_part(velocity + i, g, count);
      }
      store_part(x + i, fma(g, splat(-rate), before), count);
    });
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
  parallel_for(n, elements_per_chunk, [=](int64_t begin, int64_t end) {
    for_each_vector<T>(end - begin, [=](int64_t offset, int64_t count) {
      const int64_t i = begin + offset;
      const Vec<T> before = load_part(x + i, count);
      const Vec<T> g = decayed(gradient ? load_part(gradient + i, count) : splat(T(0)), before, step.gradient_decay);
      const Vec<T> first = fma(load_part(m + i, count), splat(step.beta1), g * splat(step.gain1));
      const Vec<T> second = fma(load_part(v + i, count), splat(step.beta2), g * splat(step.gain2) * g);
      store_part(m + i, first, count);
      store_part(v + i, second, count);
      const Vec<T> root = fma(sqrt(second), splat(step.root_scale), splat(step.epsilon));
      store_part(x + i, fma(before, splat(step.shrink), divide(Vec<T>(splat(-step.rate) * first), root)), count);
    });
  });
}

template <class T>
void scale(int64_t n, T* x, T factor) {
  parallel_for(n, elements_per_chunk, [=](int64_t begin, int64_t end) {
    for_each_vector<T>(end - begin, [=](int64_t offset, int64_t count) {
      T* const at = x + begin + offset;
      store_part(at, Vec<T>(load_part(at, count) * splat(factor)), count);
    });
  });
}

/// Σ x², in f64: the squares of f32 would overflow from 1e19 on.
template <class T>
double sum_of_squares(int64_t n, const T* x) {
  constexpr std::size_t chains = 16;
  const int64_t pieces = divide_up(n, elements_per_chunk);
  std::vector<double> partial(static_cast<std::size_t>(pieces));
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      double sums[chains] = {};
      const T* from = x + p * elements_per_chunk;
      const int64_t count = std::min(elements_per_chunk, n - p * elements_per_chunk);
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
