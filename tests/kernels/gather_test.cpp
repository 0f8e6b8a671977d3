#include "autograd/kernels/gather.h"

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

namespace {

std::vector<std::int32_t> indices(int64_t count, std::int32_t bound) {
  std::mt19937 random(5);
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (std::int32_t& value : values) value = static_cast<std::int32_t>(random() % static_cast<unsigned>(bound));
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("rows are gathered, and added up where they came from", "[gather]", float, double) {
  using T = TestType;
  constexpr int64_t rows = 5;
  for (const int64_t width : awkward_sizes<T>()) {
    for (const int64_t count : {0, 1, 50}) {
      const std::vector<T> table = numbers<T>(rows * width), more = numbers<T>(count * width, 2);
      const auto ids = indices(count, rows);
      std::vector<T> out(static_cast<std::size_t>(count * width + 1), T(100)), want = out, sums = table,
                                                                               want_sums = table;
      for (int64_t n = 0; n < count; ++n) {
        for (int64_t i = 0; i < width; ++i) {
          at(want, n * width + i) = at(table, at(ids, n) * width + i);
          at(want_sums, at(ids, n) * width + i) += at(more, n * width + i);
        }
      }
      gather_rows(count, width, table.data(), ids.data(), out.data());
      scatter_add_rows(count, width, more.data(), ids.data(), sums.data());
      CHECK(out == want);
      CHECK(sums == want_sums);
    }
  }
}

TEMPLATE_TEST_CASE("elements are gathered along an axis, and added up along it", "[gather]", float, double) {
  using T = TestType;
  constexpr int64_t size = 3;
  for (const int64_t outer : {0, 1, 4}) {
    for (const int64_t count : {0, 1, 5}) {
      for (const int64_t inner : {0, 1, 7}) {
        const std::vector<T> x = numbers<T>(outer * size * inner), y = numbers<T>(outer * count * inner);
        const auto index = indices(outer * count * inner, size);
        std::vector<T> out(y.size() + 1, T(100)), sums = x, want(out), want_sums = x;
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t j = 0; j < count; ++j) {
            for (int64_t i = 0; i < inner; ++i) {
              const int64_t place = (o * count + j) * inner + i;
              const int64_t pointed_at = (o * size + at(index, place)) * inner + i;
              at(want, place) = at(x, pointed_at);
              at(want_sums, pointed_at) += at(y, place);
            }
          }
        }
        gather(outer, size, count, inner, x.data(), index.data(), out.data());
        scatter_add(outer, size, count, inner, y.data(), index.data(), sums.data());
        CHECK(out == want);
        CHECK(sums == want_sums);
      }
    }
  }
}
