#pragma once
// Fetching ahead. While the multipliers are busy memory is idle, and while numbers come from memory the multipliers
// are. So a kernel that goes from matrix to matrix, or from one part of them to the next, says what its thread reads
// next, and the tiles of its products fetch that into the second cache, a few lines each.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "autograd/kernels/matmul.h"
#include "autograd/kernels/parallel.h"

namespace reel::kernels {

inline constexpr std::size_t cache_line = 64;  // bytes

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
    line_ = row_end_ = 0;
  }

  /// rows x columns elements. Without dense rows or columns, nothing.
  template <class T>
  void add(Matrix<const T> x, int64_t rows, int64_t columns) {
    if (x.col_stride != 1) {
      if (x.row_stride == 1) add(x.transposed(), columns, rows);
      return;
    }
    if (columns == 0) return;
    matrices_.push_back({reinterpret_cast<std::uintptr_t>(x.data), rows, static_cast<std::size_t>(columns) * sizeof(T),
                         static_cast<std::size_t>(x.row_stride) * sizeof(T)});
  }

  /// Adjacent cache lines: the address of the first, and how many.
  struct Lines {
    std::uintptr_t first;
    int64_t count;
  };

  /// The next lines that hold some of them, 1 to `most`; none after the last.
  Lines next_lines(int64_t most) {
    if (line_ >= row_end_ && !next_row()) return {0, 0};
    const auto left = static_cast<int64_t>((row_end_ - line_ + cache_line - 1) / cache_line);
    const Lines lines{line_, std::min(most, left)};
    line_ += static_cast<std::uintptr_t>(lines.count) * cache_line;
    return lines;
  }

  void fetch(int64_t count) {
    while (count > 0) {
      const Lines lines = next_lines(count);
      if (lines.count == 0) return;
      for (int64_t i = 0; i < lines.count; ++i) {
        __builtin_prefetch(reinterpret_cast<const char*>(lines.first) + i * static_cast<int64_t>(cache_line), 0, 2);
      }
      count -= lines.count;
    }
  }

 private:
  struct Rows {
    std::uintptr_t first;
    int64_t count;
    std::size_t bytes, stride;
  };

  /// Goes on to the next row, if there is one.
  bool next_row() {
    for (; current_ < matrices_.size(); ++current_) {
      Rows& rows = matrices_[current_];
      if (rows.count == 0) continue;
      --rows.count;
      line_ = rows.first / cache_line * cache_line;
      row_end_ = rows.first + rows.bytes;
      rows.first += rows.stride;
      return true;
    }
    return false;
  }

  std::vector<Rows> matrices_;
  std::size_t current_ = 0;
  std::uintptr_t line_ = 0, row_end_ = 0;
};

/// While a thread works on item `index` of a parallel loop over `count`: announce(next, upcoming) has said what it
/// reads for the item that it probably gets next. Threads take items in turn, `together` of them in a row, so that is
/// one of the same row, or one as many rows further as there are threads. If it has named anything, a loop within the
/// item announces nothing.
class Fetching {
 public:
  template <class Announce>
  Fetching(int64_t index, int64_t count, const Announce& announce, int64_t together = 1)
      : upcoming_(Upcoming::of_this_thread()), outermost_(upcoming_.empty()) {
    if (!outermost_ || index + 1 >= count) return;
    const bool ends_row = (index + 1) % together == 0;
    const int64_t next = index + 1 + (ends_row ? (threads() - 1) * together : 0);
    if (next < count) announce(next, upcoming_);
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
