#pragma once
// What the kernels' tests share: sizes at which loops over vectors go wrong, numbers to run them on, and how near they
// came.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "autograd/kernels/simd.h"
#include "tests/catch.h"

namespace reel::kernels::tests {

/// Nothing, one, around one vector, around several, and around a block of 1024.
template <class T>
std::vector<int64_t> awkward_sizes() {
  const int64_t lane = lanes<T>;
  return {0, 1, lane - 1, lane, lane + 1, 3 * lane + 2, 4 * lane, 1023, 1024, 1025};
}

template <class T>
std::vector<T> numbers(int64_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-2, 2);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(uniform(random));
  return values;
}

/// A vector's lanes.
template <class T>
using Array = std::array<T, static_cast<std::size_t>(lanes<T>)>;

template <class T>
Array<T> to_array(const Vec<T>& x) {
  Array<T> values;
  store(values.data(), x);
  return values;
}

/// How far `got` is from `want`, in units of the last place of T at `want`.
template <class T>
double ulps(T got, long double want) {
  T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isinf(rounded)) {
    bool same = std::isnan(rounded) ? std::isnan(got) : got == rounded;
    return same ? 0 : std::numeric_limits<double>::infinity();
  }
  if (std::isnan(got)) return std::numeric_limits<double>::infinity();  // itself a NaN, the error would pass for small
  T smallest = std::numeric_limits<T>::min();
  if (std::abs(want) < smallest && std::abs(got) <= smallest) return 0;  // denormals may be flushed
  // The unit may be a denormal number, which T cannot hold on a thread that flushes them.
  const int exponent = std::ilogb(std::max(std::abs(rounded), smallest));
  const long double unit = std::ldexp(1.0l, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::abs(got - want) / unit);
}

/// Element i of what a pointer to the first one stands for.
template <class T>
T& at(std::vector<T>& values, int64_t i) {
  return values[static_cast<std::size_t>(i)];
}
template <class T>
const T& at(const std::vector<T>& values, int64_t i) {
  return values[static_cast<std::size_t>(i)];
}

}  // namespace reel::kernels::tests
