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

/// Takes 1 <= count <= lanes sums to columns j, j + 1, ... of a row of c.
template <class T>
[[gnu::always_inline]] inline void finish(const Epilogue<T>& epilogue, const T* sums, int64_t j, int64_t count,
                                          T* row) {
  Vec<T> sum = load_part(sums, count);
  if (epilogue.accumulate) sum += load_part(row + j, count);
  if (epilogue.bias) sum += load_part(epilogue.bias + j, count);
  if (epilogue.relu) sum = max(splat(T(0)), sum);
  store_part(row + j, sum, count);
}

}  // namespace reel::kernels
