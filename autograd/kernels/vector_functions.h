#pragma once
// Functions of vectors. One more, pow, is in power.h.
//
// What xsimd has is repaired where it leaves the accuracy promised here: a few units in the last place of f32 and f64
// (tanh and erf: 7 of f32; erf in f64: 1e-14 relative), with the limits of the C library at 0, infinity and NaN.
//
// simd.h includes this file: code that could have the one without the other would call xsimd's own functions, which are
// found by the type of their argument.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "autograd/kernels/simd.h"

namespace reel::kernels {

namespace detail {
/// c[0] + c[1] x + c[2] x² + ...
template <class T, std::size_t Count>
Vec<T> polynomial(const T (&c)[Count], const Vec<T>& x) {
  Vec<T> sum = splat(c[Count - 1]);
  for (std::size_t i = Count - 1; i-- > 0;) sum = fma(sum, x, splat(c[i]));
  return sum;
}

template <class T>
Vec<T> clamp(const Vec<T>& x, T bound) {
  return max(splat(-bound), min(splat(bound), x));
}

/// x P(x²) / Q(x²): an odd function that is 1 from `last` on.
template <class T, std::size_t M, std::size_t N>
Vec<T> odd_quotient(const T (&p)[M], const T (&q)[N], const Vec<T>& x, T last) {
  const Vec<T> near_0 = clamp(x, last), square = near_0 * near_0;
  return clamp(Vec<T>(near_0 * divide(polynomial(p, square), polynomial(q, square))), T(1));
}

using Floats = Vec<float>::register_type;
using Bits __attribute__((vector_size(sizeof(Floats)))) = std::uint32_t;

inline Bits bits_of(const Vec<float>& x) { return std::bit_cast<Bits>(static_cast<Floats>(x)); }
inline Vec<float> from_bits(Bits bits) { return std::bit_cast<Floats>(bits); }

/// What is added to a number of up to 22 bits to round it to an integer, which then stands in the sum's last bits.
inline constexpr float no_fraction = 0x1.8p23f;

/// 2^n y for shifted = n + no_fraction, if neither y nor the result is denormal or too large.
inline Vec<float> times_power_of_2(const Vec<float>& y, const Vec<float>& shifted) {
  return from_bits(bits_of(y) + (bits_of(shifted) << 23));
}

/// e^(x - n ln 2), a polynomial as in xsimd. With n = x / ln 2, rounded, 2^n times this is e^x.
inline Vec<float> exp_of_rest(const Vec<float>& x, const Vec<float>& n) {
  constexpr float c[] = {0.5f, 0.166666657f, 0.0416657962f, 0.00833345205f, 0.00139819994f, 0.000198756912f};
  // ln 2 in two parts: n times the first one is exact.
  const Vec<float> r = fma(n, splat(2.12194440e-4f), fma(n, splat(-0.693359375f), x));
  return fma(polynomial(c, r), r * r, r + splat(1.0f));
}
}  // namespace detail

template <class T>
Vec<T> sqrt(const Vec<T>& x) {
#if XSIMD_WITH_NEON64
  // xsimd estimates it in f32, as 32-bit ARM must, and gets infinity and -0 wrong. Here the machine has the
  // instruction.
  if constexpr (std::is_same_v<T, float>) return Vec<T>(vsqrtq_f32(x));
#endif
  return xsimd::sqrt(x);
}

#if XSIMD_WITH_AVX512F
/// The machine's own way to multiply by 2^n knows when the result is too large or too small.
inline Vec<float> exp(const Vec<float>& x) {
  const Vec<float> near_0 = max(splat(-105.0f), min(splat(90.0f), x));  // beyond, it is 0 or infinity; NaN stays
  const Vec<float> n = _mm512_roundscale_ps(near_0 * splat(std::numbers::log2e_v<float>), _MM_FROUND_TO_NEAREST_INT);
  return _mm512_scalef_ps(detail::exp_of_rest(near_0, n), n);
}

/// ln x = n ln 2 + ln(1 + r) with x = 2^n (1 + r), r from -1/4 to 1/2, and ln(1 + r) = r + r² times a polynomial,
/// fitted within a tenth of a unit in the last place. The machine's own way to take x apart knows what to make of
/// denormals, zeros, infinities and negative numbers.
inline Vec<float> log(const Vec<float>& x) {
  constexpr float c[] = {-0.5f,        0.33333454f,  -0.25000054f, 0.19990607f,  -0.16647767f,
                         0.144820616f, -0.13162231f, 0.104483314f, -0.044909615f};
  const Vec<float> mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
  const Vec<float> n = Vec<float>(_mm512_getexp_ps(x)) - Vec<float>(_mm512_getexp_ps(mantissa));
  const Vec<float> r = mantissa - splat(1.0f);
  return fma(n, splat(std::numbers::ln2_v<float>), fma(detail::polynomial(c, r), r * r, r));
}
#else
/// 2^n goes into the exponent. What would be denormal is 0; what may be too large, or is NaN, is rare.
inline Vec<float> exp(const Vec<float>& x) {
  auto normal = [](const Vec<float>& below_88) {
    const Vec<float> shifted = fma(below_88, splat(std::numbers::log2e_v<float>), splat(detail::no_fraction));
    const Vec<float> rest = detail::exp_of_rest(below_88, shifted - splat(detail::no_fraction));
    return select(below_88 < splat(-87.33654f), splat(0.0f), detail::times_power_of_2(rest, shifted));
  };
  const Vec<float> y = normal(x);
  const Mask<float> is_usual = x <= splat(88.0f);
  if (all(is_usual)) return y;
  const Vec<float> large = normal(min(splat(100.0f), x) - splat(20.0f)) * splat(4.85165195e8f);  // e^(x - 20) e^20
  return select(is_usual, y, select(is_nan(x), x, large));
}
#endif

/// xsimd calls everything above 709 infinite, although e^x overflows only 0.7 later.
inline Vec<double> exp(const Vec<double>& x) {
  const Mask<double> late = x > splat(709.0);
  const Vec<double> y = xsimd::exp(x);
  return any(late) ? select(late, xsimd::exp(x - splat(1.0)) * splat(std::numbers::e), y) : y;
}

template <class T>
Vec<T> log(const Vec<T>& x) {
  return xsimd::log(x);
}

template <class T>
Vec<T> sin(const Vec<T>& x) {
  return xsimd::sin(x);
}

template <class T>
Vec<T> cos(const Vec<T>& x) {
  return xsimd::cos(x);
}

// In f32, tanh and erf are quotients of polynomials, fitted up to where they become 1, within 7 units in the last
// place. xsimd takes twice as long, as it computes what small x need and what large ones do.

template <class T>
Vec<T> tanh(const Vec<T>& x) {
  if constexpr (std::is_same_v<T, float>) {
    constexpr T p[] = {1, 0.133797169f, 0.00349403429f, 2.05834767e-5f, 1.33190667e-8f};
    constexpr T q[] = {1, 0.467130333f, 0.025871072f, 0.000328309223f, 7.76201659e-7f};
    return detail::odd_quotient(p, q, x, 9.02f);
  } else {
    return xsimd::tanh(x);
  }
}

template <class T>
Vec<T> erf(const Vec<T>& x) {
  if constexpr (std::is_same_v<T, float>) {
    constexpr T p[] = {1.12837911f, 0.190407127f, 0.0527488217f, 0.00376565056f, 0.000284883718f, 2.05008541e-6f};
    constexpr T q[] = {1, 0.502076566f, 0.114109404f, 0.0149692828f, 0.00116254424f, 3.80917299e-5f};
    return detail::odd_quotient(p, q, x, 3.92f);
  } else {
    return xsimd::erf(detail::clamp(x, 6.0));  // it would square larger arguments to infinity and return NaN
  }
}

}  // namespace reel::kernels
