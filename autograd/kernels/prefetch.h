#pragma once
// Fetching ahead. While the multipliers are busy memory is idle, and while numbers come from memory the multipliers
// are. So a kernel that goes from matrix to matrix, or from one part of them to the next, says what its thread reads
// next, and the tiles of its products fetch that into the second cache, a few lines each.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "autograd/kernels/machine.h"
#include "autograd/kernels/matmul.h"
#include "autograd/kernels/parallel.h"

namespace reel::kernels {

/// Whether this many numbers fit the second cache.
template <class T>
bool stays_near(int64_t numbers) {
  return numbers <= second_cache / static_cast<int64_t>(sizeof(T));
}

/// A run of lines: an address in the first, and how many bytes it is from each to the next.
struct Lines {
  std::uintptr_t first;
  int64_t step, count;
};

/// Ends a list of runs.
inline constexpr Lines no_lines{0, 0, 0};

/// Asks for every line of a run of `count` numbers, which are `most` or a little less; for the line of the last number,
/// too, since a run that begins within a line goes on into one more.
template <int64_t most, int locality, class T>
[[gnu::always_inline]] inline void prefetch_run(const T* first, int64_t count) {
#pragma GCC unroll 8
  for (int64_t i = 0; i < most; i += line<T>) __builtin_prefetch(first + i, 0, locality);
  __builtin_prefetch(first + count - 1, 0, locality);
}

/// Reads something of every line that numbers lie in, from first to last: memory is faster at that than at lines that
/// are asked for one by one.
template <class T>
void read_through(std::span<const T> numbers) {
  const volatile T* const all = numbers.data();  // compilers leave out what nobody uses, unless it is volatile
  for (std::size_t i = 0; i < numbers.size(); i += cache_line / sizeof(T)) static_cast<void>(all[i]);
}

/// The matrices that a thread reads next.
class Upcoming {
 public:
  static Upcoming& of_this_thread() {
    thread_local Upcoming upcoming;
    return upcoming;
  }

  bool empty() const { return matrices_.empty(); }

  void clear() {
    matrices_.clear();
    current_ = 0;
    taken_ = 0;
  }

  /// rows x columns elements. Without dense rows or columns, nothing.
  template <class T>
  void add(Matrix<const T> x, int64_t rows, int64_t columns) {
    if (x.col_stride != 1) {
      if (x.row_stride == 1) add(x.transposed(), columns, rows);
      return;
    }
    if (rows == 0 || columns == 0) return;
    if (x.row_stride == columns) {
      columns *= rows;
      rows = 1;
    }
    constexpr auto element = static_cast<int64_t>(sizeof(T));
    const auto first = reinterpret_cast<std::uintptr_t>(x.data);
    const int64_t bytes = columns * element, stride = x.row_stride * element;
    const bool aligned = static_cast<int64_t>(first) % cache_line == 0 && stride % cache_line == 0;
    const int64_t lines = divide_up(aligned ? bytes : bytes + cache_line - 1, cache_line);
    if (lines <= short_row) {
      matrices_.push_back({{first, stride, rows}, lines, cache_line});
    } else {
      matrices_.push_back({{first, cache_line, lines}, rows, stride});
    }
  }

  /// The next lines, `most` of them or fewer, as runs, of which the last is no_lines.
  const Lines* next_lines(int64_t most) { return empty() ? &no_lines : list(most); }

 private:
  /// A matrix as runs of lines. A run is a row or, if rows are short, goes down all rows: their first lines, their
  /// second ones, and so on. Rows that begin within a line may get one more than they need.
  struct Runs {
    Lines next;
    int64_t count, stride;
  };

  /// Rows of up to this many lines are short: as runs of their own they would soon fill list_.
  static constexpr int64_t short_row = 4;

  [[gnu::noinline]] const Lines* list(int64_t most) {
    Lines* run = list_.data();
    for (; run != &list_.back() && most > 0 && current_ < matrices_.size(); ++run) {
      Runs& runs = matrices_[current_];
      const auto taken = static_cast<std::uintptr_t>(taken_ * runs.next.step);
      *run = {runs.next.first + taken, runs.next.step, std::min(most, runs.next.count - taken_)};
      most -= run->count;
      taken_ += run->count;
      if (taken_ < runs.next.count) continue;
      taken_ = 0;
      runs.next.first += static_cast<std::uintptr_t>(runs.stride);
      if (--runs.count == 0) ++current_;
    }
    *run = no_lines;
    return list_.data();
  }

  std::vector<Runs> matrices_;
  std::size_t current_ = 0;    // the first that is not all taken,
  int64_t taken_ = 0;          // and the lines taken of its next run
  std::array<Lines, 9> list_;  // few, for who lists them does not multiply
};

/// Lives while a thread works on item `index` of a parallel loop over `count`. announce(next, upcoming) says what is
/// read for the next item, which most often is this thread's, too. If that is anything, loops within the item announce
/// nothing.
class Fetching {
 public:
  template <class Announce>
  Fetching(int64_t index, int64_t count, const Announce& announce)
      : upcoming_(Upcoming::of_this_thread()), outermost_(upcoming_.empty()) {
    if (outermost_ && index + 1 < count) announce(index + 1, upcoming_);
  }
  ~Fetching() {
    if (outermost_) upcoming_.clear();
  }
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;

 private:
  Upcoming& upcoming_;
  const bool outermost_;
};

}  // namespace reel::kernels
