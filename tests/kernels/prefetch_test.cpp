// Which cache lines are fetched ahead, against all lines of all elements.

#include "autograd/kernels/prefetch.h"

#include <algorithm>

#include "tests/catch.h"

using namespace reel::kernels;

namespace {

using Lines = std::vector<std::uintptr_t>;

/// The next lines, up to `most`.
Lines taken(Upcoming& upcoming, int64_t most = 1'000'000) {
  Lines lines;
  while (std::ssize(lines) < most) {
    const auto [first, count] = upcoming.next_lines(most - std::ssize(lines));
    if (count == 0) break;
    for (int64_t i = 0; i < count; ++i) lines.push_back(first + static_cast<std::uintptr_t>(i) * cache_line);
  }
  return lines;
}

Lines sorted_once(Lines lines) {
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

/// Element by element.
Lines expected(Matrix<const float> x, int64_t rows, int64_t columns) {
  Lines lines;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      lines.push_back(reinterpret_cast<std::uintptr_t>(x.at(i, j).data) / cache_line * cache_line);
    }
  }
  return sorted_once(lines);
}

}  // namespace

TEST_CASE("prefetch: every line that holds an element, wherever rows begin") {
  const std::vector<float> memory(20000);
  for (const int64_t start : {0, 1, 15}) {
    for (const int64_t columns : {0, 1, 15, 16, 17, 100}) {
      for (const int64_t stride : {int64_t{0}, columns, columns + 3, int64_t{160}}) {
        CAPTURE(start, columns, stride);
        const Matrix<const float> x{memory.data() + start, stride, 1};
        Upcoming upcoming;
        upcoming.add(x, 30, columns);
        Lines lines = taken(upcoming, 7);  // and stops within a row
        for (const std::uintptr_t line : taken(upcoming)) lines.push_back(line);
        CHECK(sorted_once(lines) == expected(x, 30, columns));
        upcoming.add(x.transposed(), columns, 30);
        CHECK(sorted_once(taken(upcoming)) == expected(x, 30, columns));
      }
    }
  }
}

TEST_CASE("prefetch: one matrix after the other, until it is told to forget them") {
  alignas(cache_line) const float memory[64] = {};
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  Upcoming upcoming;
  CHECK(taken(upcoming).empty());
  upcoming.add(Matrix<const float>{memory + 32, 32, 1}, 1, 32);
  upcoming.add(Matrix<const float>{memory, 16, 1}, 2, 16);
  CHECK(taken(upcoming, 1) == Lines{first + 128});
  upcoming.fetch(2);
  CHECK(taken(upcoming) == Lines{first + 64});
  upcoming.add(Matrix<const float>{memory, 16, 1}, 2, 16);
  CHECK(taken(upcoming, 1) == Lines{first});
  upcoming.clear();
  CHECK(taken(upcoming).empty());
  upcoming.add(Matrix<const float>{memory, 2, 3}, 4, 4);  // neither rows nor columns are dense
  CHECK(taken(upcoming).empty());
}

TEST_CASE("prefetch: the next item is announced as long as its thread works on one, and the last has none") {
  alignas(cache_line) const float memory[32] = {};
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  const int before = threads();
  for (const int count : {1, 2}) {
    set_threads(count);
    int64_t announced = -1;
    auto announce = [&](int64_t next, Upcoming& upcoming) {
      announced = next;
      upcoming.add(Matrix<const float>{memory, 32, 1}, 1, 32);
    };
    {
      const Fetching fetching(3, 4 + count, announce);
      CHECK(announced == 3 + count);
      CHECK(taken(Upcoming::of_this_thread(), 1) == Lines{first});
    }
    CHECK(taken(Upcoming::of_this_thread()).empty());  // the second line is forgotten
    {
      const Fetching last(4, 4 + count, announce);
      CHECK(announced == 3 + count);
      CHECK(taken(Upcoming::of_this_thread()).empty());
    }
    {
      const Fetching within_a_row(3, 100, announce, 5);
      CHECK(announced == 4);
    }
    const Fetching ends_a_row(4, 100, announce, 5);
    CHECK(announced == 5 * count);
    {
      const Fetching of_a_loop_within(0, 100, announce);
      CHECK(announced == 5 * count);
    }
    CHECK(taken(Upcoming::of_this_thread()).size() == 2);  // and has not been forgotten
  }
  set_threads(before);
}
