#pragma once
// A walk over a table of which some rows are touched, in runs of adjacent rows: what is done to rows is then done to
// stretches of memory, as long as they can be.

#include <algorithm>
#include <cstdint>
#include <span>

#include "autograd/kernels/parallel.h"

namespace reel::kernels {

/// Rows of a table, `width` wide, that meet numbers: the row rows[i] meets values[i, :]. `rows` ascends, each row once.
template <class T>
struct TouchedRows {
  std::span<const std::int32_t> rows;
  const T* values;
  int64_t width;

  int64_t row(int64_t i) const { return rows[static_cast<std::size_t>(i)]; }
  /// How many of them come before a row of the table.
  int64_t count_before(int64_t row) const { return std::lower_bound(rows.begin(), rows.end(), row) - rows.begin(); }
  /// Where the run of adjacent rows ends that begins with the i-th; at most `end`.
  int64_t run_end(int64_t i, int64_t end) const {
    do ++i;
    while (i < end && row(i) == row(i - 1) + 1);
    return i;
  }
  int64_t rows_per_chunk() const { return grain_for(width); }
};

/// body(start, n, values) for each run of touched rows: n adjacent numbers of the table, from number `start` on, and
/// where theirs are. Runs are shared out to threads.
template <class T, class Body>
void for_each_touched_run(const TouchedRows<T>& touched, const Body& body) {
  const int64_t width = touched.width;
  parallel_for(static_cast<int64_t>(touched.rows.size()), touched.rows_per_chunk(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin, next; i < end; i = next) {
      next = touched.run_end(i, end);
      body(touched.row(i) * width, (next - i) * width, touched.values + i * width);
    }
  });
}

/// The same for every run of the table's `rows`; in those that are not touched, `values` is null.
template <class T, class Body>
void for_each_run(int64_t rows, const TouchedRows<T>& touched, const Body& body) {
  const int64_t width = touched.width;
  parallel_for(rows, touched.rows_per_chunk(), [&](int64_t begin, int64_t end) {
    int64_t i = touched.count_before(begin);
    const int64_t last = touched.count_before(end);
    for (int64_t row = begin, next; row < end; row = next) {
      if (i < last && touched.row(i) == row) {
        const int64_t first = i;
        i = touched.run_end(i, last);
        next = row + (i - first);
        body(row * width, (next - row) * width, touched.values + first * width);
      } else {
        next = i < last ? touched.row(i) : end;
        body(row * width, (next - row) * width, static_cast<const T*>(nullptr));
      }
    }
  });
}

}  // namespace reel::kernels
