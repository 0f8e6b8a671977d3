#pragma once
// What happens to the sums of a product on their way to its result.

#include <cstdint>

#include "autograd/kernels/rows.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {

/// In this order.
template <class T>
struct Epilogue {
  bool accumulate = false;  // add what c held before
  const T* bias = nullptr;  // add bias[j] to column j
  bool relu = false;        // replace negative values by 0
};

/// The larger of 0 and x, a number or a vector of the compiler's; a NaN stays.
template <class X>
X positive_part(X x) {
  return x < 0 ? X{} : x;
}
template <class T>
Vec<T> positive_part(const Vec<T>& x) {
  return max(splat(T(0)), x);
}

/// What a sum, or a vector of sums, comes to. c held before(), and its part of the bias is bias().
template <class T, class X, class Before, class Bias>
[[gnu::always_inline]] inline X finished(const Epilogue<T>& epilogue, X sum, const Before& before, const Bias& bias) {
  if (epilogue.accumulate) sum += before();
  if (epilogue.bias) sum += bias();
  if (epilogue.relu) sum = positive_part(sum);
  return sum;
}

/// Takes 1 <= count <= lanes sums to columns j, j + 1, ... of a row of c.
template <class T>
[[gnu::always_inline]] inline void finish(const Epilogue<T>& epilogue, const T* sums, int64_t j, int64_t count,
                                          T* row) {
  auto part_of = [&](const T* numbers) { return load_part(numbers + j, count); };
  const Vec<T> sum = finished(
      epilogue, load_part(sums, count), [&] { return part_of(row); }, [&] { return part_of(epilogue.bias); });
  store_part(row + j, sum, count);
}

}  // namespace reel::kernels
