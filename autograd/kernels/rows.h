#pragma once
// How kernels walk over rows of n adjacent numbers: rows in parallel, a row in whole vectors and a last partial one.

#include <algorithm>

#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {

/// body(r) for every row, several of them in parallel where they are worth it.
template <class Body>
void for_each_row(int64_t rows, int64_t n, const Body& body) {
  parallel_for(rows, grain_for(n, elements_per_chunk / 2), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) body(r);
  });
}

/// body(i, count) for every vector of a row: it starts at element i and has `count` elements, as many as there are
/// lanes, or fewer in the last one. Always inlined: what `body` captures, a call would read from memory for every
/// vector.
template <class T, class Body>
[[gnu::always_inline]] inline void for_each_vector(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) body(i, lanes<T>);
  if (i < n) body(i, n - i);
}

// load_n and store_n for these counts, which mostly are whole vectors.

template <class T>
Vec<T> load_part(const T* from, int64_t count, std::type_identity_t<T> fill = 0) {
  return count == lanes<T> ? load(from) : load_n(from, count, fill);
}

template <class T>
void store_part(T* to, const Vec<T>& x, int64_t count) {
  count == lanes<T> ? store(to, x) : store_n(to, x, count);
}

/// Σ term(i, count) over the vectors of a row, in four chains of additions, which hide their latency.
template <class T, class Term>
[[gnu::always_inline]] inline T sum_vectors(int64_t n, const Term& term) {
  constexpr int64_t step = 4 * lanes<T>;
  Vec<T> s0(T(0)), s1(T(0)), s2(T(0)), s3(T(0));
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    s0 += term(i, lanes<T>);
    s1 += term(i + lanes<T>, lanes<T>);
    s2 += term(i + 2 * lanes<T>, lanes<T>);
    s3 += term(i + 3 * lanes<T>, lanes<T>);
  }
  for (; i < n; i += lanes<T>) s0 += term(i, std::min(n - i, lanes<T>));
  return reduce_add(Vec<T>((s0 + s1) + (s2 + s3)));
}

/// The scalar product of two rows.
template <class T>
T dot(int64_t k, const T* row, const T* x) {
  constexpr int chains = 4;  // enough independent additions to hide their latency
  Vec<T> sum[chains];
  for (Vec<T>& chain : sum) chain = splat(T(0));
  int64_t p = 0;
  for (; p + chains * lanes<T> <= k; p += chains * lanes<T>) {
#pragma GCC unroll 4
    for (int i = 0; i < chains; ++i) sum[i] = fma(load(row + p + i * lanes<T>), load(x + p + i * lanes<T>), sum[i]);
  }
  for (; p < k; p += lanes<T>) {
    const int64_t rest = std::min(k - p, lanes<T>);
    sum[0] = fma(load_n(row + p, rest), load_n(x + p, rest), sum[0]);
  }
  return reduce_add(Vec<T>((sum[0] + sum[1]) + (sum[2] + sum[3])));
}

}  // namespace reel::kernels
