#include "autograd/kernels/dropout.h"

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

TEMPLATE_TEST_CASE("dropout agrees with its twin, from any block on", "[dropout]", float, double) {
  using T = TestType;
  constexpr std::uint64_t key = 0x0123456789abcdef;
  constexpr std::uint32_t threshold = 0x60000000;
  for (const int64_t n : {0, 1, 3, 4, 5, 1023, 20'001}) {
    for (const std::uint64_t first_block : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{0xffffffff}}) {
      const std::vector<T> x = numbers<T>(n);
      std::vector<T> y(x.size() + 1, T(100)), want = y;
      dropout(n, x.data(), y.data(), {key, first_block, threshold, 1.6});
      for (int64_t i = 0; i < n; ++i) {
        const std::uint64_t block = first_block + static_cast<std::uint64_t>(i / 4);
        const auto words =
            philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                       {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
        at(want, i) = words[static_cast<std::size_t>(i % 4)] < threshold ? T(0) : at(x, i) * T(1.6);
      }
      CHECK(y == want);
    }
  }
}
