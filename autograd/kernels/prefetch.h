#pragma once
// Fetching ahead. While the multipliers are busy memory is idle, and while numbers come from memory the multipliers
// are. So a kernel that goes from matrix to matrix, or from one part of them to the next, says what its thread reads
// next, and the tiles of its products fetch that into the second cache, a few lines each.

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

/// The lines of a matrix that are not fetched yet, row after row.
struct Lines {
  std::uintptr_t next;        // an address in the next one
  int64_t left, left_in_row;  // of all, and of its row, of which some are as long as any are
  int64_t in_row, gap;        // lines in a row, and bytes from the end of its last to the first of the row below

  /// Asks for the next line, to be counted off later; several of a row may be, together.
  [[gnu::always_inline]] void fetch() {
    __builtin_prefetch(reinterpret_cast<const void*>(next), 0, 2);
    next += cache_line;
  }

  /// No more than are left in the row.
  void count_off(int64_t fetched) {
    left -= fetched;
    left_in_row -= fetched;
    if (left_in_row == 0) {
      next += static_cast<std::uintptr_t>(gap);
      left_in_row = in_row;
    }
  }
};

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
    // Rows that begin within a line may get one more than they need.
    const int64_t lines = divide_up(aligned ? bytes : bytes + cache_line - 1, cache_line);
    matrices_.push_back({first, lines * rows, lines, lines, stride - lines * cache_line});
  }

  /// Those of the first matrix of which any are left, for tiles to fetch some; null if none are.
  Lines* next() {
    if (empty()) return nullptr;  // as most often, where products are small
    while (current_ < matrices_.size() && matrices_[current_].left == 0) ++current_;
    return current_ < matrices_.size() ? &matrices_[current_] : nullptr;
  }

 private:
  std::vector<Lines> matrices_;
  std::size_t current_ = 0;  // those before have no lines left
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
