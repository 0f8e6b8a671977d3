#pragma once
// The vocabulary in which kernels are written: a vector of the target's full width and what one can do with it.
//
// This is the only file that includes xsimd. It names the few things that kernels need, makes xsimd 8.1 to 14 agree
// with each other, and sets right what its operations get wrong on some machines. Functions such as exp come along,
// from vector_functions.h.
//
// A kernel walks over memory in whole vectors and ends with one partial vector:
//
//     int64_t i = 0;
//     for (; i + lanes<T> <= n; i += lanes<T>) store(y + i, exp(load(x + i)));
//     store_n(y + i, exp(load_n(x + i, n - i)), n - i);

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns of its own AVX-512 header, whose "undefined" vectors are initialized with themselves.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "autograd/kernels/machine.h"

namespace reel::kernels {

using std::int64_t;

template <class T>
using Vec = xsimd::batch<T>;

/// What a comparison of two vectors gives: true or false in each lane.
template <class T>
using Mask = xsimd::batch_bool<T>;

template <class T>
inline constexpr int64_t lanes = static_cast<int64_t>(Vec<T>::size);

/// How many vectors the processor holds at once; what a register tile is laid out for.
inline constexpr int vector_registers = XSIMD_WITH_AVX512F || XSIMD_WITH_NEON64 ? 32 : 16;

/// Whether load_n is about as fast as load.
inline constexpr bool has_masks = XSIMD_WITH_AVX512F || XSIMD_WITH_AVX2;

/// Whether half a vector, under a mask, may cost less than a whole one: many processors run 512 bits as two halves.
/// Only f32 has them: f64 is for checking gradients.
#if XSIMD_WITH_AVX512F && defined(__AVX512VL__)
#define REEL_HAS_HALVES 1
#else
#define REEL_HAS_HALVES 0
#endif
template <class T>
inline constexpr bool has_halves = REEL_HAS_HALVES == 1 && std::is_same_v<T, float>;

/// No vector is wider.
inline constexpr int64_t vector_alignment = cache_line;

// ---- memory; no alignment is asked for ----

template <class T>
Vec<T> splat(T x) {
  return Vec<T>(x);
}

template <class T>
Vec<T> load(const T* from) {
  return Vec<T>::load_unaligned(from);
}

template <class T>
void store(T* to, const Vec<T>& x) {
  x.store_unaligned(to);
}

// Some machines load under a mask, and touch no memory where it is false. With AVX2 they also store so, but no faster
// than in a loop.
namespace detail {
#if XSIMD_WITH_AVX512F
template <class T>
auto first_lanes(int64_t n) {
  return static_cast<typename Mask<T>::register_type>((1u << n) - 1u);
}
inline __m512 load_masked(const float* from, __mmask16 mask, __m512 fill) {
  return _mm512_mask_loadu_ps(fill, mask, from);
}
inline __m512d load_masked(const double* from, __mmask8 mask, __m512d fill) {
  return _mm512_mask_loadu_pd(fill, mask, from);
}
inline void store_masked(float* to, __mmask16 mask, __m512 x) { _mm512_mask_storeu_ps(to, mask, x); }
inline void store_masked(double* to, __mmask8 mask, __m512d x) { _mm512_mask_storeu_pd(to, mask, x); }
#elif XSIMD_WITH_AVX2
template <class T>
__m256i first_lanes(int64_t n) {
  static constexpr std::int32_t words[] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::int32_t* const first = words + (lanes<T> - n) * static_cast<int64_t>(sizeof(T) / sizeof(*words));
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first));
}
inline __m256 load_masked(const float* from, __m256i mask, __m256 fill) {
  return _mm256_blendv_ps(fill, _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask));
}
inline __m256d load_masked(const double* from, __m256i mask, __m256d fill) {
  return _mm256_blendv_pd(fill, _mm256_maskload_pd(from, mask), _mm256_castsi256_pd(mask));
}
#endif
}  // namespace detail

/// The first n values, 0 <= n <= lanes; `fill` in the other lanes.
template <class T>
Vec<T> load_n(const T* from, int64_t n, std::type_identity_t<T> fill = 0) {
#if XSIMD_WITH_AVX512F || XSIMD_WITH_AVX2
  return detail::load_masked(from, detail::first_lanes<T>(n), splat<T>(fill));
#else
  alignas(vector_alignment) T buffer[lanes<T>];
  for (int64_t i = 0; i < lanes<T>; ++i) buffer[i] = i < n ? from[i] : fill;
  return Vec<T>::load_aligned(buffer);
#endif
}

/// Writes the first n lanes, 0 <= n <= lanes.
template <class T>
void store_n(T* to, const Vec<T>& x, int64_t n) {
#if XSIMD_WITH_AVX512F
  detail::store_masked(to, detail::first_lanes<T>(n), x);
#else
  alignas(vector_alignment) T buffer[lanes<T>];
  x.store_aligned(buffer);
  for (int64_t i = 0; i < n; ++i) to[i] = buffer[i];
#endif
}

/// x, which the compiler is to hold in a register from here on: it would rather load it anew for each use.
template <class T>
Vec<T> in_register(const Vec<T>& x) {
  typename Vec<T>::register_type held = x;
#if XSIMD_WITH_AVX
  asm("" : "+v"(held));
#endif
  return held;
}

// ---- arithmetic and choice; + - * and comparisons are the vector's own operators ----

/// a / b, rounded once
template <class T>
Vec<T> divide(const Vec<T>& a, const Vec<T>& b) {
#if XSIMD_WITH_NEON64
  // xsimd multiplies by a refined estimate of 1 / b, which is off by a unit in the last place now and then.
  if constexpr (std::is_same_v<T, float>) return vdivq_f32(a, b);
#endif
  return a / b;
}

/// Whether fma rounds once.
#if defined(__FMA__) || XSIMD_WITH_NEON64
inline constexpr bool fma_rounds_once = true;
#else
inline constexpr bool fma_rounds_once = false;
#endif

/// a b + c, rounded once where the machine can
template <class T>
Vec<T> fma(const Vec<T>& a, const Vec<T>& b, const Vec<T>& c) {
#if XSIMD_WITH_AVX512F && XSIMD_VERSION_MAJOR < 9
  // xsimd 8 has no AVX-512 form and would multiply, then add.
  if constexpr (std::is_same_v<T, float>) {
    return _mm512_fmadd_ps(a, b, c);
  } else {
    return _mm512_fmadd_pd(a, b, c);
  }
#else
  return xsimd::fma(a, b, c);
#endif
}

/// a > b ? a : b. A NaN in b stays; what becomes of one in a depends on the machine.
template <class T>
Vec<T> max(const Vec<T>& a, const Vec<T>& b) {
#if XSIMD_VERSION_MAJOR < 14
  return xsimd::max(a, b);
#else
  return xsimd::max(b, a);  // since 14, a NaN in the first operand stays
#endif
}

/// a < b ? a : b. A NaN in b stays; what becomes of one in a depends on the machine.
template <class T>
Vec<T> min(const Vec<T>& a, const Vec<T>& b) {
#if XSIMD_VERSION_MAJOR < 14
  return xsimd::min(a, b);
#else
  return xsimd::min(b, a);
#endif
}

/// condition ? a : b, lane by lane
template <class T>
Vec<T> select(const Mask<T>& condition, const Vec<T>& a, const Vec<T>& b) {
  return xsimd::select(condition, a, b);
}

template <class T>
bool any(const Mask<T>& mask) {
  return xsimd::any(mask);
}

template <class T>
bool all(const Mask<T>& mask) {
  return xsimd::all(mask);
}

/// Not x != x: before xsimd 9 that is false for NaN.
template <class T>
Mask<T> is_nan(const Vec<T>& x) {
  return xsimd::isnan(x);
}

/// Of 0, -0: what xsimd's -x makes of it depends on the machine.
template <class T>
Vec<T> negate(const Vec<T>& x) {
  return x ^ splat(T(-0.0));  // the bit of the sign
}

template <class T>
Vec<T> abs(const Vec<T>& x) {
  return xsimd::abs(x);
}

/// The lower 32 bits of a times those of b.
inline std::uint64_t multiply_lower_halves(std::uint64_t a, std::uint64_t b) {
  return (a & 0xffffffff) * (b & 0xffffffff);
}
inline Vec<std::uint64_t> multiply_lower_halves(const Vec<std::uint64_t>& a, const Vec<std::uint64_t>& b) {
#if XSIMD_WITH_AVX512F
  return _mm512_mul_epu32(a, b);
#elif XSIMD_WITH_AVX2
  return _mm256_mul_epu32(a, b);
#elif XSIMD_WITH_SSE2 && !XSIMD_WITH_AVX
  return _mm_mul_epu32(a, b);
#elif XSIMD_WITH_NEON64
  return vmull_u32(vmovn_u64(a), vmovn_u64(b));
#else
  const Vec<std::uint64_t> lower(std::uint64_t{0xffffffff});
  return (a & lower) * (b & lower);
#endif
}

// ---- half a vector, where has_halves ----

template <class T>
using HalfVec __attribute__((vector_size(sizeof(Vec<T>) / 2))) = T;

template <class T>
inline constexpr int64_t half_lanes = lanes<T> / 2;

#if REEL_HAS_HALVES
/// The first n values, 0 <= n <= half_lanes; 0 in the other lanes.
inline HalfVec<float> load_half_n(const float* from, int64_t n) {
  return _mm256_maskz_loadu_ps(static_cast<__mmask8>((1u << n) - 1u), from);
}

/// Nothing is said about the upper half.
inline Vec<float> widen(HalfVec<float> x) { return _mm512_castps256_ps512(x); }

/// a b + c with the same a in all lanes
inline HalfVec<float> fma(float a, HalfVec<float> b, HalfVec<float> c) {
  return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
}
#endif

// ---- shuffles ----

/// Writes a[0], b[0], a[1], b[1], ...
template <class T>
void store_interleaved(T* to, const Vec<T>& a, const Vec<T>& b) {
  using Register = typename Vec<T>::register_type;
  const Register first = a, second = b;
  [&]<int64_t... Lane>(std::integer_sequence<int64_t, Lane...>) {
    constexpr auto source = [](int64_t place) { return place / 2 + place % 2 * lanes<T>; };
    store(to, Vec<T>(Register(__builtin_shufflevector(first, second, source(Lane)...))));
    store(to + lanes<T>, Vec<T>(Register(__builtin_shufflevector(first, second, source(lanes<T> + Lane)...))));
  }
  (std::make_integer_sequence<int64_t, lanes<T>>());
}

// ---- reductions of one vector, always in the same order ----

namespace detail {
/// Folds the upper half onto the lower one until one value is left.
template <int64_t Half, class T, class Combine>
T fold(const Vec<T>& x, const Combine& combine) {
  using Register = typename Vec<T>::register_type;
  const Register lower = x;
  if constexpr (Half == 0) {
    return lower[0];
  } else {
    return [&]<int64_t... Lane>(std::integer_sequence<int64_t, Lane...>) {
      const Register upper = __builtin_shufflevector(lower, lower, (Lane + Half) % lanes<T>...);
      return fold<Half / 2, T>(Vec<T>(combine(x, Vec<T>(upper))), combine);
    }
    (std::make_integer_sequence<int64_t, lanes<T>>());
  }
}
}  // namespace detail

template <class T>
T reduce_add(const Vec<T>& x) {
  return detail::fold<lanes<T> / 2, T>(x, [](const Vec<T>& a, const Vec<T>& b) { return a + b; });
}

/// The largest lane; NaN in some lane gives no promise.
template <class T>
T reduce_max(const Vec<T>& x) {
  return detail::fold<lanes<T> / 2, T>(x, [](const Vec<T>& a, const Vec<T>& b) { return max(a, b); });
}

}  // namespace reel::kernels

// Last, for it is written in these words.
#include "autograd/kernels/vector_functions.h"
