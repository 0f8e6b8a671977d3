#pragma once
// x^y of vectors, within two units in the last place; of integers it is exact, as far as T has all integers.
//
// In f32 it is 2^(y log2 x). Since y multiplies the logarithm's error, this has twice as many digits as a number: it is
// a sum of two, of which the second is what rounding took from the first (T. J. Dekker, "A floating-point technique for
// extending the available precision", 1971).

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include "autograd/kernels/simd.h"

namespace reel::kernels {

namespace detail {
/// x^y of each lane, by the C library
template <class T>
Vec<T> pow_by_lane(const Vec<T>& x, const Vec<T>& y) {
  alignas(vector_alignment) T base[lanes<T>], exponent[lanes<T>];
  x.store_aligned(base);
  y.store_aligned(exponent);
  for (int64_t i = 0; i < lanes<T>; ++i) base[i] = std::pow(base[i], exponent[i]);
  return Vec<T>::load_aligned(base);
}

struct TwoParts {
  Vec<float> high, low;
};

using Floats = Vec<float>::register_type;
using Integers __attribute__((vector_size(sizeof(Floats)))) = std::int32_t;

inline Integers bits_of(const Vec<float>& x) { return std::bit_cast<Integers>(static_cast<Floats>(x)); }
inline Vec<float> from_bits(Integers bits) { return std::bit_cast<Floats>(bits); }

/// log2 x = n + log2 m for x = 2^n m, with m from √½ to √2; x is positive and not denormal. With s = (m - 1) / (m + 1),
/// log2 m = 2 / ln 2 (s + s³ / 3 + s⁵ / 5 + ...).
inline TwoParts log2_in_two_parts(const Vec<float>& x) {
  const Vec<float> one(1.0f), factor(2.88539004f), factor_low(3.85192598e-8f);  // 2 / ln 2
  const Integers bits = bits_of(x), beyond_root_of_half = bits - 0x3f3504f3;
  const Vec<float> n = __builtin_convertvector(beyond_root_of_half >> 23, Floats);
  const Vec<float> m = from_bits(bits - (beyond_root_of_half & ~0x7fffff));

  const Vec<float> sum = m + one, sum_low = m - (sum - one), inverse = divide(one, sum);
  const Vec<float> s = (m - one) * inverse, s_low = fma(-s, sum_low, fma(-s, sum, m - one)) * inverse;
  const Vec<float> first = s * factor, first_low = fma(s, factor, -first), square = s * s;

  constexpr float c[] = {0.961796701f, 0.577079773f, 0.411900103f, 0.336617053f};
  const Vec<float> low = fma(s, factor_low, fma(s_low, fma(factor, square, factor), first_low));
  const Vec<float> rest = fma(s * square, polynomial(c, square), low), high = n + first;
  return {high, rest + (first - (high - n))};
}

/// 2^x for |x| < 126: with n = x, rounded, and r = x - n, it is 2^n (1 + r ln 2 + r² (...)).
inline Vec<float> exp2(const TwoParts& x) {
  const Vec<float> no_fraction(0x1.8p23f), one(1.0f), ln_2(std::numbers::ln2_v<float>);
  const Vec<float> n = (x.high + x.low + no_fraction) - no_fraction, r = (x.high - n) + x.low;
  const Vec<float> linear = fma(r, ln_2, one), linear_low = fma(r, ln_2, one - linear);
  constexpr float c[] = {0.240226507f, 0.0555038042f, 0.00961808208f, 0.00133816898f, 0.000154535635f};
  const Vec<float> power = linear + fma(r * r, polynomial(c, r), linear_low);
  return from_bits(bits_of(power) + (__builtin_convertvector(static_cast<Floats>(n), Integers) << 23));
}
}  // namespace detail

/// x^y. Where x is not positive or the result too large or too small, and in f64, the C library computes it, lane by
/// lane.
template <class T>
Vec<T> pow(const Vec<T>& x, const Vec<T>& y) {
  if constexpr (fma_rounds_once && std::is_same_v<T, float>) {
    using Limits = std::numeric_limits<T>;
    const auto [log, log_low] = detail::log2_in_two_parts(abs(x));
    const Vec<T> high = y * log, low = fma(y, log_low, fma(y, log, -high));
    if (all((x >= splat(Limits::min())) & (x <= splat(Limits::max())) & (abs(high) < splat(T(125))))) {
      return detail::exp2({high, low});
    }
  }
  return detail::pow_by_lane(x, y);
}

}  // namespace reel::kernels
