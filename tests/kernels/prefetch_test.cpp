// Which cache lines are fetched ahead, against all lines of all elements.

#include "autograd/kernels/prefetch.h"

#include <algorithm>
#include <vector>

#include "autograd/kernels/tile.h"
#include "tests/catch.h"

using namespace reel::kernels;

namespace {

using Addresses = std::vector<std::uintptr_t>;

std::uintptr_t line_of(std::uintptr_t address) { return address - address % cache_line; }

/// The next lines, up to `most`.
Addresses taken(Upcoming& upcoming, int64_t most = 1'000'000) {
  Addresses lines;
  while (std::ssize(lines) < most) {
    Lines* const next = upcoming.next();
    if (!next) break;
    lines.push_back(line_of(next->next));
    next->fetch();
    next->count_off(1);
  }
  return lines;
}

Addresses sorted_once(Addresses lines) {
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

/// Element by element.
Addresses expected(Matrix<const float> x, int64_t rows, int64_t columns) {
  Addresses lines;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      lines.push_back(line_of(reinterpret_cast<std::uintptr_t>(x.at(i, j).data)));
    }
  }
  return sorted_once(lines);
}

}  // namespace

TEST_CASE("prefetch: every line that holds an element, wherever rows begin, and at most the one behind a row") {
  const std::vector<float> memory(20000);
  for (const int64_t start : {0, 1, 15}) {
    for (const int64_t rows : {0, 1, 3, 30}) {
      for (const int64_t columns : {0, 1, 15, 16, 17, 32, 100}) {
        for (const int64_t stride : {int64_t{0}, columns, columns + 3, int64_t{160}}) {
          CAPTURE(start, rows, columns, stride);
          const Matrix<const float> x{memory.data() + start, stride, 1};
          Upcoming upcoming;
          upcoming.add(x, rows, columns);
          Addresses lines = taken(upcoming, 7);  // and stops within a row
          CHECK(std::ssize(lines) <= 7);
          for (const std::uintptr_t line : taken(upcoming)) lines.push_back(line);
          lines = sorted_once(lines);
          upcoming.add(x.transposed(), columns, rows);
          CHECK(sorted_once(taken(upcoming)) == lines);

          const Addresses wanted = expected(x, rows, columns);
          CHECK(std::includes(lines.begin(), lines.end(), wanted.begin(), wanted.end()));
          CHECK(std::all_of(lines.begin(), lines.end(), [&](std::uintptr_t line) {
            return std::binary_search(wanted.begin(), wanted.end(), line) ||
                   std::binary_search(wanted.begin(), wanted.end(), line - cache_line);
          }));
        }
      }
    }
  }
}

TEST_CASE("prefetch: row after row, and adjacent rows are one") {
  alignas(cache_line) static const float memory[8 * 128] = {};
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  Upcoming upcoming;
  upcoming.add(Matrix<const float>{memory, 128, 1}, 3, 40);
  CHECK(upcoming.next()->left == 9);
  CHECK(taken(upcoming, 4) == Addresses{first, first + 64, first + 128, first + 512});
  CHECK(upcoming.next()->left == 5);
  CHECK(taken(upcoming) == Addresses{first + 576, first + 640, first + 1024, first + 1088, first + 1152});
  CHECK(upcoming.next() == nullptr);
  upcoming.add(Matrix<const float>{memory, 128, 1}, 8, 128);
  CHECK(upcoming.next()->left == 64);
  CHECK(upcoming.next()->left_in_row == 64);
  CHECK(taken(upcoming).back() == first + 63 * 64);
}

TEST_CASE("prefetch: one matrix after the other, until it is told to forget them") {
  alignas(cache_line) const float memory[64] = {};
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  Upcoming upcoming;
  CHECK(taken(upcoming).empty());
  upcoming.add(Matrix<const float>{memory + 32, 32, 1}, 1, 32);
  upcoming.add(Matrix<const float>{memory, 16, 1}, 2, 16);
  CHECK(taken(upcoming, 1) == Addresses{first + 128});
  CHECK(taken(upcoming, 2) == Addresses{first + 192, first});
  CHECK(taken(upcoming) == Addresses{first + 64});
  upcoming.add(Matrix<const float>{memory, 16, 1}, 2, 16);
  CHECK(taken(upcoming, 1) == Addresses{first});
  upcoming.clear();
  CHECK(taken(upcoming).empty());
  upcoming.add(Matrix<const float>{memory, 2, 3}, 4, 4);  // neither rows nor columns are dense
  CHECK(taken(upcoming).empty());
}

TEST_CASE("prefetch: tiles fetch what is upcoming, each of them as much, and go on where the one before has stopped") {
  constexpr int64_t depth = 100, width = 2 * lanes<float>, tiles = 3;
  const std::vector<float> a(tiles * tile_rows * depth, 1), b(depth * width, 1), memory(200'000);
  std::vector<float> c(tiles * tile_rows * width);
  const Dense dense = GENERATE(Dense::neither, Dense::rows, Dense::columns);
  CAPTURE(static_cast<int>(dense));
  const Matrix<const float> its_a =
      dense == Dense::columns ? Matrix<const float>{a.data(), 1, tile_rows} : Matrix<const float>{a.data(), depth, 1};
  // Fetches for `count` tiles what is announced: returns how much, and checks that the rest is still to come.
  auto fetched = [&](int64_t count, Matrix<const float> announced, int64_t rows, int64_t columns) {
    Upcoming upcoming, all;
    upcoming.add(announced, rows, columns);
    all.add(announced, rows, columns);
    const TileColumn<float> column{.count = count,
                                   .depth = depth,
                                   .a = its_a,
                                   .a_step = tile_rows * depth,
                                   .b = b.data(),
                                   .b_stride = width,
                                   .c = c.data(),
                                   .c_stride = width,
                                   .width = width};
    std::fill(c.begin(), c.end(), 0.0f);
    tile_kernels_for<float>(width, dense)[tile_rows - 1](column, upcoming);
    const Addresses lines = taken(all), left = taken(upcoming);
    REQUIRE(left.size() < lines.size());
    CHECK(std::equal(left.begin(), left.end(), lines.end() - std::ssize(left)));
    CHECK(std::count(c.begin(), c.begin() + count * tile_rows * width, float{depth}) == count * tile_rows * width);
    return std::ssize(lines) - std::ssize(left);
  };
  const Matrix<const float> one_row{memory.data(), 200'000, 1}, short_rows{memory.data(), 64, 1};
  const int64_t by_one = fetched(1, one_row, 1, 200'000);
  CHECK(by_one >= depth / 4);
  CHECK(by_one < depth);
  CHECK(fetched(tiles, one_row, 1, 200'000) == tiles * by_one);
  CHECK(fetched(1, short_rows, 1000, 40) == by_one);
  CHECK(fetched(tiles, short_rows, 1000, 40) == tiles * by_one);
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  CHECK(fetched(tiles, one_row, 1, 160) == 10 + (first % cache_line == 0 ? 0 : 1));  // all, and not one more
}

TEST_CASE("prefetch: the next item is announced as long as its thread works on one, and the last has none") {
  alignas(cache_line) const float memory[32] = {};
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  int64_t announced = -1;
  auto announce = [&](int64_t next, Upcoming& upcoming) {
    announced = next;
    upcoming.add(Matrix<const float>{memory, 32, 1}, 1, 32);
  };
  {
    const Fetching fetching(3, 5, announce);
    CHECK(announced == 4);
    CHECK(taken(Upcoming::of_this_thread(), 1) == Addresses{first});
  }
  CHECK(taken(Upcoming::of_this_thread()).empty());  // the second line is forgotten
  {
    const Fetching last(4, 5, announce);
    CHECK(announced == 4);
    CHECK(taken(Upcoming::of_this_thread()).empty());
  }
  const Fetching outer(6, 100, announce);
  CHECK(announced == 7);
  {
    const Fetching of_a_loop_within(0, 100, announce);
    CHECK(announced == 7);
  }
  CHECK(taken(Upcoming::of_this_thread()).size() == 2);  // and has not been forgotten
}
