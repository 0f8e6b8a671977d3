#include "autograd/kernels/copy.h"

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

TEMPLATE_TEST_CASE("copy agrees with its twin for any two layouts", "[copy]", float, double) {
  using T = TestType;
  for (const int64_t n : awkward_sizes<T>()) {
    for (const int64_t rows : {1, 3}) {
      const int64_t room = 7 * rows * (n + 1) + 1;
      const std::vector<int64_t> sizes{rows, n};
      const std::vector<std::vector<int64_t>> layouts = {{n, 1}, {1, rows}, {7 * n, 7}, {n + 1, 1}};
      std::vector<std::vector<int64_t>> from_layouts = layouts;
      from_layouts.push_back({1, 0});  // the same number all along a row
      for (const auto& from_strides : from_layouts) {
        for (const auto& to_strides : layouts) {
          const std::vector<T> from = numbers<T>(room);
          std::vector<T> to(from.size(), T(100)), want = to;
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              at(want, i * to_strides[0] + j * to_strides[1]) = at(from, i * from_strides[0] + j * from_strides[1]);
            }
          }
          copy(sizes, from.data(), from_strides, to.data(), to_strides);
          CHECK(to == want);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("copy agrees with its twin for every order of three axes", "[copy]", float, double) {
  using T = TestType;
  const std::vector<int64_t> sizes{5, 37, 19};
  const int64_t count = 5 * 37 * 19;
  auto strides_in_order = [&](const std::vector<std::size_t>& axes) {  // from the innermost one on
    std::vector<int64_t> strides(3);
    int64_t stride = 1;
    for (const std::size_t axis : axes) {
      strides[axis] = stride;
      stride *= sizes[axis];
    }
    return strides;
  };
  std::vector<std::size_t> inner{0, 1, 2};
  do {
    std::vector<std::size_t> outer{0, 1, 2};
    do {
      const std::vector<int64_t> from_strides = strides_in_order(inner), to_strides = strides_in_order(outer);
      const std::vector<T> from = numbers<T>(count);
      std::vector<T> to(from.size() + 1, T(100)), want = to;
      for (int64_t i = 0; i < 5; ++i) {
        for (int64_t j = 0; j < 37; ++j) {
          for (int64_t k = 0; k < 19; ++k) {
            at(want, i * to_strides[0] + j * to_strides[1] + k * to_strides[2]) =
                at(from, i * from_strides[0] + j * from_strides[1] + k * from_strides[2]);
          }
        }
      }
      copy(sizes, from.data(), from_strides, to.data(), to_strides);
      CHECK(to == want);
    } while (std::next_permutation(outer.begin(), outer.end()));
  } while (std::next_permutation(inner.begin(), inner.end()));
}

TEST_CASE("copy repeats, converts and shares out long rows") {
  const int64_t n = 100'000;
  const std::vector<double> from = numbers<double>(n);
  std::vector<float> to(static_cast<std::size_t>(2 * n));
  const std::vector<int64_t> sizes{2, n}, repeated{0, 1}, dense{n, 1};
  copy(sizes, from.data(), repeated, to.data(), dense);
  for (int64_t i = 0; i < 2 * n; ++i) REQUIRE(at(to, i) == static_cast<float>(at(from, i % n)));
}
