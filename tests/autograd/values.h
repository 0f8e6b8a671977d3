#pragma once
// What the engine's tests share: random inputs in f64, and a look at all values of a tensor at once.

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "tests/catch.h"

namespace reel::tests {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

using Values = std::vector<double>;

/// Normal numbers that keep 0.2 away from 0, where many functions have a kink.
inline Tensor away_from_zero(const Shape& shape, std::uint64_t seed, DType dtype = DType::f64) {
  Generator generator(seed);
  Tensor x = randn(shape, DType::f64, generator);
  for (double* v = x.data<double>(); v != x.data<double>() + x.numel(); ++v) *v += *v < 0 ? -0.2 : 0.2;
  Tensor result(shape, dtype);
  copy(x, result);
  return result;
}

inline Tensor positive(const Shape& shape, std::uint64_t seed, DType dtype = DType::f64) {
  Generator generator(seed);
  return uniform(shape, 0.5, 2, dtype, generator);
}

inline Tensor f64(const Shape& shape, const Values& values) { return tensor(shape, values, DType::f64); }

inline std::vector<std::int32_t> to_vector(const Ids& ids) { return {ids.values().begin(), ids.values().end()}; }

/// Equal, where NaN equals NaN.
inline bool same_values(const Values& a, const Values& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return true;
}

/// Each value within `tolerance`, absolute or relative. (Approx alone would let a relative error of 1e-5 pass.)
inline void check_close(const Values& got, const Values& want, double tolerance = 1e-12) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(tolerance).margin(tolerance));
}
inline void check_close(const Tensor& got, const Tensor& want, double tolerance = 1e-12) {
  REQUIRE(got.shape() == want.shape());
  check_close(got.to_vector(), want.to_vector(), tolerance);
}

/// Same shape, type and bits.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor left = clone(a), right = clone(b);
  return with_type(a.dtype(), [&]<class T>(T) {
    return std::memcmp(left.data<T>(), right.data<T>(), static_cast<std::size_t>(a.numel()) * sizeof(T)) == 0;
  });
}

inline bool all_finite(const Tensor& x) {
  for (double value : x.to_vector()) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

/// d Σ f(x...) / dx for every x.
template <class F>
std::vector<Tensor> gradients_of(const F& f, std::vector<Tensor> xs) {
  for (Tensor& x : xs) x = clone(x).set_requires_grad();
  Tape tape;
  const Tensor y = f(xs);
  // Times one: the sum of a 0-d tensor is the tensor itself.
  return tape.gradients(sum(y * 1.0), xs);
}

/// The same for a function of one tensor.
template <class F>
Values gradient_of(const F& f, const Tensor& x) {
  return gradients_of([&](const std::vector<Tensor>& xs) { return f(xs[0]); }, {x})[0].to_vector();
}

}  // namespace reel::tests
