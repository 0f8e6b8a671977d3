#pragma once
// What the kernels' tests share: sizes at which loops over vectors go wrong, and numbers to run them on.

#include <cstdint>
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
