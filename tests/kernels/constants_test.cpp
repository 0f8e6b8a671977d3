// Does the compiler get constants right? GCC 12.2 with AVX-512 does not, unless it is kept from merging their stores
// into one vector (see CMakeLists.txt): {1, 1, 0, 0} became four ones.

#include <vector>

#include "tests/catch.h"

namespace {

/// Compares out of line, where nothing is known of the values.
template <class T>
[[gnu::noinline]] bool are(const std::vector<T>& values, int ones) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != (static_cast<int>(i) < ones ? T(1) : T(0))) return false;
  }
  return true;
}

}  // namespace

TEMPLATE_TEST_CASE("constants that begin alike are not taken for all alike", "[constants]", double, float, int) {
  CHECK(are<TestType>({1, 1, 0, 0}, 2));
  CHECK(are<TestType>({1, 1, 1, 0}, 3));
  CHECK(are<TestType>({1, 1, 1, 1, 0, 0, 0, 0}, 4));
  CHECK(are<TestType>({1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 8));
}
