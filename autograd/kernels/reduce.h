#pragma once
// Sums and maxima along one axis of a contiguous array seen as (outer, count, inner):
// out[o, i] = sum over c of x[o, c, i].
//
// The order of a sum depends on these three sizes alone. Long ones are cut, so that the rounding error grows much more
// slowly than the number of terms: rows into runs, whose sums are added in f64, columns into halves.

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "autograd/kernels/rows.h"

namespace reel::kernels {

namespace detail {

/// The sum of n adjacent numbers: of short runs of them, whose sums are added in f64.
template <class T>
T sum_row(const T* x, int64_t n) {
  constexpr int64_t run = 128 * lanes<T>;
  double total = 0;
  for (int64_t start = 0; start < n; start += run) {
    total += sum_vectors<T>(std::min(run, n - start),
                            [&](int64_t i, int64_t count) { return load_part(x + start + i, count); });
  }
  return static_cast<T>(total);
}

/// The sums of `Vectors` vectors of adjacent columns, the last of which has `rest` elements, of a matrix with `count`
/// rows, `row` elements apart. Many rows are halved until they are few, so that the rounding error grows with the
/// logarithm of their number.
template <int Vectors, class T>
std::array<Vec<T>, Vectors> sum_columns(const T* x, int64_t count, int64_t row, int64_t rest) {
  constexpr int64_t few = 32;
  constexpr int last = Vectors - 1;
  std::array<Vec<T>, Vectors> totals;
  if (count > few) {
    const int64_t half = count / 2;
    totals = sum_columns<Vectors>(x, half, row, rest);
    const auto others = sum_columns<Vectors>(x + half * row, count - half, row, rest);
    for (std::size_t v = 0; v < Vectors; ++v) totals[v] += others[v];
  } else {
    totals.fill(splat(T(0)));
    for (int64_t c = 0; c < count; ++c, x += row) {
      for (std::size_t v = 0; v < last; ++v) totals[v] += load(x + static_cast<int64_t>(v) * lanes<T>);
      totals[last] += load_part(x + last * lanes<T>, rest);
    }
  }
  return totals;
}

/// How many vectors of each row are read together, from neighbouring lines of memory.
constexpr int strip_vectors = 4;

/// The sums of up to strip_vectors vectors of columns.
template <class T>
void sum_strip(const T* x, int64_t count, int64_t row, int64_t columns, T* out) {
  if (columns == strip_vectors * lanes<T>) {
    const auto sums = sum_columns<strip_vectors>(x, count, row, lanes<T>);
    for (const Vec<T>& sum : sums) {
      store(out, sum);
      out += lanes<T>;
    }
  } else {
    for_each_vector<T>(columns, [&](int64_t i, int64_t rest) {
      store_part(out + i, sum_columns<1>(x + i, count, row, rest)[0], rest);
    });
  }
}

/// Where the largest of n adjacent numbers lies: its value is found first, then its place.
template <class T>
std::int32_t argmax_row(const T* x, int64_t n) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  Vec<T> largest(lowest);
  Mask<T> nans = is_nan(largest);
  for_each_vector<T>(n, [&](int64_t i, int64_t count) {
    const Vec<T> values = load_part(x + i, count, lowest);
    nans = nans | is_nan(values);
    largest = max(values, largest);
  });
  const bool is_nan_wanted = any(nans);
  const T wanted = reduce_max(largest);
  int64_t i = 0;
  auto is_among = [&](const Vec<T>& values) { return any(is_nan_wanted ? is_nan(values) : values == splat(wanted)); };
  while (i + lanes<T> <= n && !is_among(load(x + i))) i += lanes<T>;
  while (is_nan_wanted ? x[i] == x[i] : x[i] != wanted) ++i;
  return static_cast<std::int32_t>(i);
}

/// How many columns are searched at once, row by row, as they lie in memory: what has been found so far, 3 KiB at most,
/// stays in the first cache.
constexpr int64_t columns_at_once = 256;

template <class T>
void argmax_columns(const T* x, int64_t count, int64_t stride, int64_t columns, std::int32_t* out) {
  T largest[columns_at_once];
  std::copy_n(x, columns, largest);
  std::fill_n(out, columns, 0);
  for (int64_t c = 1; c < count; ++c) {
    const T* row = x + c * stride;
    for (int64_t i = 0; i < columns; ++i) {
      if (row[i] > largest[i] || (row[i] != row[i] && largest[i] == largest[i])) {
        largest[i] = row[i];
        out[i] = static_cast<std::int32_t>(c);
      }
    }
  }
}

}  // namespace detail

template <class T>
void sum(int64_t outer, int64_t count, int64_t inner, const T* x, T* out) {
  if (inner == 1 && outer == 1) {  // one number: threads sum pieces of fixed size, whose sums are added in order
    const int64_t pieces = divide_up(count, elements_per_chunk);
    std::vector<T> partial(static_cast<std::size_t>(pieces));
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t start = p * elements_per_chunk;
        partial[static_cast<std::size_t>(p)] = detail::sum_row(x + start, std::min(elements_per_chunk, count - start));
      }
    });
    *out = detail::sum_row(partial.data(), pieces);
  } else if (inner == 1) {
    const int64_t rows_per_chunk = grain_for(count);
    parallel_for(outer, rows_per_chunk, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) out[o] = detail::sum_row(x + o * count, count);
    });
  } else {
    constexpr int64_t width = detail::strip_vectors * lanes<T>;
    const int64_t strips = divide_up(inner, width), strips_per_chunk = grain_for(count * width);
    parallel_for(outer * strips, strips_per_chunk, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t o = unit / strips, i = unit % strips * width;
        detail::sum_strip(x + o * count * inner + i, count, inner, std::min(width, inner - i), out + o * inner + i);
      }
    });
  }
}

/// Where the largest of `count` numbers lies, the first of equal ones; a NaN counts as the largest, as in PyTorch.
template <class T>
void argmax(int64_t outer, int64_t count, int64_t inner, const T* x, std::int32_t* out) {
  parallel_for(outer, grain_for(count * inner), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      if (inner == 1) {
        out[o] = detail::argmax_row(x + o * count, count);
        continue;
      }
      for (int64_t i = 0; i < inner; i += detail::columns_at_once) {
        const int64_t columns = std::min(detail::columns_at_once, inner - i);
        detail::argmax_columns(x + o * count * inner + i, count, inner, columns, out + o * inner + i);
      }
    }
  });
}

}  // namespace reel::kernels
