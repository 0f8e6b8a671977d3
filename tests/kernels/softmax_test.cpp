#include "autograd/kernels/softmax.h"

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

namespace {

/// log softmax of one row, in long double.
template <class T>
std::vector<long double> plain_log_softmax(const T* x, int64_t n) {
  long double largest = *std::max_element(x, x + n), total = 0;
  for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - largest);
  std::vector<long double> y;
  for (int64_t i = 0; i < n; ++i) y.push_back(x[i] - largest - std::log(total));
  return y;
}

}  // namespace

TEMPLATE_TEST_CASE("softmax and log_softmax agree with their twin", "[softmax]", float, double) {
  using T = TestType;
  const double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-14;
  for (const int64_t n : awkward_sizes<T>()) {
    if (n == 0) continue;
    for (const int64_t rows : {0, 1, 3, 40}) {
      std::vector<T> x = numbers<T>(rows * n);
      for (std::size_t i = 0; i < x.size(); i += 7) x[i] *= 50;
      std::vector<T> y(x.size() + 1, T(100)), logs = y;
      softmax(rows, n, x.data(), y.data());
      log_softmax(rows, n, x.data(), logs.data());
      for (int64_t r = 0; r < rows; ++r) {
        const auto want = plain_log_softmax(x.data() + r * n, n);
        for (int64_t i = 0; i < n; ++i) {
          const double expected = static_cast<double>(at(want, i));
          CHECK(at(logs, r * n + i) == Approx(expected).epsilon(tolerance).margin(tolerance));
          CHECK(at(y, r * n + i) == Approx(std::exp(expected)).epsilon(5 * tolerance).margin(1e-37));
        }
      }
      CHECK(y.back() == 100);
      CHECK(logs.back() == 100);
    }
  }
}

TEMPLATE_TEST_CASE("a row of minus infinity", "[softmax]", float, double) {
  using T = TestType;
  const T infinity = std::numeric_limits<T>::infinity();
  for (const int64_t n : {int64_t{1}, lanes<T>, lanes<T> + 1}) {
    const std::vector<T> x(static_cast<std::size_t>(n), -infinity);
    std::vector<T> y = x, logs = x;
    softmax(1, n, x.data(), y.data());
    log_softmax(1, n, x.data(), logs.data());
    CHECK(y == std::vector<T>(x.size(), T(0)));
    CHECK(logs == x);
  }
}
