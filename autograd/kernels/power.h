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
/// x^y of each lane, by the C library. That would scale up a denormal, which becomes 0 where they are flushed: there
/// it compares equal to 0, and is taken as it.
template <class T>
Vec<T> pow_by_lane(const Vec<T>& x, const Vec<T>& y) {
  alignas(vector_alignment) T base[lanes<T>], exponent[lanes<T>];
  x.store_aligned(base);
  y.store_aligned(exponent);
  for (int64_t i = 0; i < lanes<T>; ++i) {
    base[i] = std::pow(base[i] == 0 ? std::copysign(T(0), base[i]) : base[i], exponent[i]);
  }
  return Vec<T>::load_aligned(base);
}

struct TwoParts {
  Vec<float> high, low;
};

/// log2 x = n + log2 m for x = 2^n m, with m from √½ to √2; x is positive and not denormal. With s = (m - 1) / (m + 1),
/// log2 m = 2 / ln 2 (s + s³ / 3 + s⁵ / 5 + ...).
inline TwoParts log2_in_two_parts(const Vec<float>& x) {
  const Vec<float> one(1.0f), factor(2.88539004f), factor_low(3.85192598e-8f);  // 2 / ln 2
  using Integers __attribute__((vector_size(sizeof(Floats)))) = std::int32_t;
  const Bits bits = bits_of(x), beyond_root_of_half = bits - 0x3f3504f3u;
  const Vec<float> n = __builtin_convertvector(std::bit_cast<Integers>(beyond_root_of_half) >> 23, Floats);
  const Vec<float> m = from_bits(bits - (beyond_root_of_half & ~0x7fffffu));

  const Vec<float> sum = m + one, sum_low = m - (sum - one), inverse = divide(one, sum);
  const Vec<float> s = (m - one) * inverse, s_low = fma(-s, sum_low, fma(-s, sum, m - one)) * inverse, square = s * s;

  // Products whose rounding matters are in fma: a compiler may join others with what follows, and round once.
  constexpr float c[] = {0.961796701f, 0.577079773f, 0.411900103f, 0.336617053f};
  const Vec<float> rest = fma(s * square, polynomial(c, square), s_low * fma(factor, square, factor));
  const Vec<float> first = fma(s, factor, n), others = fma(s, factor, n - first) + fma(s, factor_low, rest);
  const Vec<float> high = first + others;
  return {high, others - (high - first)};
}

/// 2^(y x) for |y x| < 126: with n = y x, rounded, and r = y x - n, it is 2^n (1 + r ln 2 + r² (...)).
inline Vec<float> exp2_of_product(const Vec<float>& y, const TwoParts& x) {
  const Vec<float> one(1.0f), ln_2(std::numbers::ln2_v<float>), shifted = fma(y, x.high, splat(no_fraction));
  const Vec<float> n = shifted - splat(no_fraction), r = fma(y, x.low, fma(y, x.high, -n));
  const Vec<float> linear = fma(r, ln_2, one), linear_low = fma(r, ln_2, one - linear);
  constexpr float c[] = {0.240226507f, 0.0555038042f, 0.00961808208f, 0.00133816898f, 0.000154535635f};
  const Vec<float> power = linear + fma(r * r, polynomial(c, r), linear_low);
  return times_power_of_2(power, shifted);
}
}  // namespace detail

/// x^y. Where x is no positive normal number or the result near the smallest or largest of them, in f64, and on
/// machines without a fused multiply-add, the C library computes it, lane by lane.
template <class T>
Vec<T> pow(const Vec<T>& x, const Vec<T>& y) {
  if constexpr (fma_rounds_once && std::is_same_v<T, float>) {
    using Limits = std::numeric_limits<T>;
    const detail::TwoParts log = detail::log2_in_two_parts(abs(x));
    const Mask<T> simple =
        (x >= splat(Limits::min())) & (x <= splat(Limits::max())) & (abs(Vec<T>(y * log.high)) < splat(T(125)));
    const Vec<T> power = detail::exp2_of_product(select(simple, y, splat(T(0))), log);
    return all(simple) ? power : select(simple, power, detail::pow_by_lane(x, y));
  } else {
    return detail::pow_by_lane(x, y);
  }
}

}  // namespace reel::kernels
