#include "autograd/kernels/nest.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "tests/catch.h"

using namespace reel::kernels;

namespace {

using Offsets = std::vector<std::array<int64_t, 2>>;

/// Every element's place in both operands, by a plain walk over all indices in row-major order.
Offsets plain_walk(const std::vector<int64_t>& sizes, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  Offsets result{{0, 0}};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    Offsets next;
    for (const auto& place : result) {
      for (int64_t i = 0; i < sizes[axis]; ++i) next.push_back({place[0] + i * a[axis], place[1] + i * b[axis]});
    }
    result = next;
  }
  return result;
}

Offsets nest_walk(const Nest<2>& nest) {
  Offsets result;
  Nest<2>::Row from_the_first(nest, 0);
  for (int64_t row = 0; row < nest.rows(); ++row, from_the_first.next()) {
    const auto start = nest.offsets(row);
    CHECK(from_the_first.offsets == start);
    for (int64_t i = 0; i < nest.row_length(); ++i) {
      result.push_back({start[0] + i * nest.row_stride(0), start[1] + i * nest.row_stride(1)});
    }
  }
  return result;
}

}  // namespace

TEST_CASE("a nest visits every element in row-major order") {
  const std::vector<std::array<std::vector<int64_t>, 3>> cases = {
      {{{}, {}, {}}},
      {{{5}, {1}, {3}}},
      {{{2, 3}, {3, 1}, {3, 1}}},
      {{{2, 3}, {3, 1}, {1, 2}}},
      {{{2, 3}, {3, 1}, {0, 1}}},
      {{{2, 3}, {3, 1}, {1, 0}}},
      {{{2, 3}, {0, 0}, {3, 1}}},
      {{{2, 1, 3}, {3, 77, 1}, {3, -5, 1}}},
      {{{1, 1}, {9, 9}, {8, 8}}},
      {{{2, 3, 4}, {12, 4, 1}, {4, 8, 1}}},
      {{{2, 3, 4}, {12, 4, 1}, {24, 8, 2}}},
      {{{2, 3, 4, 5}, {60, 20, 5, 1}, {0, 0, 5, 1}}},
      {{{2, 0, 3}, {3, 3, 1}, {3, 3, 1}}},
      {{{0}, {1}, {1}}},
      {{{3, 0}, {1, 1}, {1, 1}}},
      {{{2, 1, 2, 1, 2, 1, 2, 2}, {16, 1, 8, 1, 4, 1, 2, 1}, {1, 1, 2, 1, 4, 1, 8, 16}}}};
  for (const auto& [sizes, a, b] : cases) {
    CHECK(nest_walk(Nest<2>(sizes, {Sizes(a), Sizes(b)})) == plain_walk(sizes, a, b));
  }
}

TEST_CASE("every piece of every row is visited once, whatever the threads take at a time") {
  const std::vector<int64_t> sizes{3, 4, 10}, a{100, 20, 1}, b{10, 30, 1};
  const Nest<2> nest(sizes, {Sizes(a), Sizes(b)});
  for (const int64_t longest : {1, 3, 10, 1000}) {
    for (const int64_t elements : {1, 25, 1'000'000}) {
      std::vector<std::array<int64_t, 2>> seen;
      std::mutex mutex;
      for_each_piece(nest, longest, elements, [&](const std::array<int64_t, 2>& offsets, int64_t count) {
        std::lock_guard lock(mutex);
        CHECK((count == longest || count == 10 % longest || count == 10));
        for (int64_t i = 0; i < count; ++i) seen.push_back({offsets[0] + i, offsets[1] + i});
      });
      Offsets want = plain_walk(sizes, a, b);
      std::sort(seen.begin(), seen.end());
      std::sort(want.begin(), want.end());
      CHECK(seen == want);
    }
  }
}

TEST_CASE("axes along which all operands step evenly are one row") {
  const std::vector<int64_t> sizes{2, 3, 4}, whole{12, 4, 1}, doubled{24, 8, 2}, gap{20, 4, 1};
  CHECK(Nest<2>(sizes, {Sizes(whole), Sizes(doubled)}).row_length() == 24);
  CHECK(Nest<2>(sizes, {Sizes(whole), Sizes(gap)}).row_length() == 12);
  CHECK(Nest<2>(sizes, {Sizes(whole), Sizes(gap)}).rows() == 2);
}
