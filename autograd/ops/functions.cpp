#include <numbers>
#include <utility>

#include "autograd/creation.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "autograd/tape.h"

namespace reel {

using kernels::select;
using kernels::splat;

namespace {

/// -1, 0 or 1. No gradient flows through it: it is constant but for a step.
Tensor sign(const Tensor& x) {
  return map("sign", on_vectors([](const auto& v) { return sign(v); }), x);
}

/// y = value(x)       dx = dy slope(x)
template <class Value, class Slope>
Tensor function(const char* name, const Tensor& x, const Value& value, const Slope& slope) {
  return record(name, {x}, map(name, on_vectors(value), x),
                [slope, x](Tensor dy, Grads& grads) { grads.add(0, chain(grads, std::move(dy), slope, x)); });
}

/// y = value(x)       dx = dy slope(y): x need not be kept
template <class Value, class Slope>
Tensor function_of_result(const char* name, const Tensor& x, const Value& value, const Slope& slope) {
  Tensor y = map(name, on_vectors(value), x);
  return record(name, {x}, y,
                [slope, y](Tensor dy, Grads& grads) { grads.add(0, chain(grads, std::move(dy), slope, y)); });
}

}  // namespace

/// y = e^x            dx = dy y
Tensor exp(const Tensor& x) {
  auto value = [](const auto& v) { return exp(v); };
  auto slope = [](const auto& y) { return y; };
  return function_of_result("exp", x, value, slope);
}

/// y = log x          dx = dy / x
Tensor log(const Tensor& x) {
  auto value = [](const auto& v) { return log(v); };
  return record("log", {x}, map("log", on_vectors(value), x),
                [x](const Tensor& dy, Grads& grads) { grads.add(0, dy / x); });
}

/// y = √x             dx = dy / (2 y)
Tensor sqrt(const Tensor& x) {
  auto value = [](const auto& v) { return sqrt(v); };
  auto slope = [](const auto& y) { return 0.5 / y; };
  return function_of_result("sqrt", x, value, slope);
}

/// y = |x|            dx = dy sign(x), 0 at the kink
Tensor abs(const Tensor& x) {
  auto value = [](const auto& v) { return abs(v); };
  auto slope = [](const auto& v) { return sign(v); };
  return function("abs", x, value, slope);
}

/// y = sin x          dx = dy cos x
Tensor sin(const Tensor& x) {
  auto value = [](const auto& v) { return sin(v); };
  auto slope = [](const auto& v) { return cos(v); };
  return function("sin", x, value, slope);
}

/// y = cos x          dx = -dy sin x
Tensor cos(const Tensor& x) {
  auto value = [](const auto& v) { return cos(v); };
  auto slope = [](const auto& v) { return -sin(v); };
  return function("cos", x, value, slope);
}

/// y = tanh x         dx = dy (1 - y²)
Tensor tanh(const Tensor& x) {
  auto value = [](const auto& v) { return tanh(v); };
  auto slope = [](const auto& y) { return 1.0 - y * y; };
  return function_of_result("tanh", x, value, slope);
}

/// y = 1 / (1 + e^-x)          dx = dy y (1 - y)
Tensor sigmoid(const Tensor& x) {
  auto value = [](const auto& v) { return sigmoid(v); };
  auto slope = [](const auto& y) { return y * (1.0 - y); };
  return function_of_result("sigmoid", x, value, slope);
}

/// y = 2/√π ∫₀ˣ e^-t² dt       dx = dy 2/√π e^-x²
Tensor erf(const Tensor& x) {
  auto value = [](const auto& v) { return erf(v); };
  auto slope = [](const auto& v) { return exp(-(v * v)) * (2 * std::numbers::inv_sqrtpi); };
  return function("erf", x, value, slope);
}

/// dx = 0 where y = 0, else dy: y is positive there, or NaN
Tensor through_relu(Grads& grads, Tensor dy, const Tensor& y) {
  if (Tape::recording()) {
    const Tensor zero = scalar(0, dy.dtype());
    return where(eq(y, zero), zero, dy);
  }
  auto pass = [](auto v, auto u) {
    using T = typename decltype(u)::value_type;
    return select(u == splat(T(0)), splat(T(0)), v);
  };
  return map_over("relu", grads, std::move(dy), pass, y);
}

/// y = max(x, 0)      dx = dy where x > 0
Tensor relu(const Tensor& x) {
  auto rectify = [](auto v) {
    using T = typename decltype(v)::value_type;
    return select(v < splat(T(0)), splat(T(0)), v);  // a NaN stays
  };
  Tensor y = map("relu", rectify, x);
  return record("relu", {x}, y, [y](Tensor dy, Grads& grads) { grads.add(0, through_relu(grads, std::move(dy), y)); });
}

/// y = x Φ(x), Φ(x) = (1 + erf(x/√2)) / 2          dx = dy (Φ(x) + x φ(x)), φ(x) = e^(-x²/2) / √(2π)
Tensor gelu(const Tensor& x) {
  constexpr double root_half = 1 / std::numbers::sqrt2;
  auto distribution = [](const auto& v) { return (erf(v * root_half) + 1.0) * 0.5; };
  auto value = [=](const auto& v) { return v * distribution(v); };
  auto slope = [=](const auto& v) {
    const auto density = exp(v * v * -0.5) * (std::numbers::inv_sqrtpi * root_half);
    return distribution(v) + v * density;
  };
  return function("gelu", x, value, slope);
}

/// y = x (1 + tanh u) / 2, u = √(2/π) (x + 0.044715 x³)
/// dx = dy ((1 + tanh u) / 2 + x (1 - tanh² u) u' / 2), u' = √(2/π) (1 + 3 · 0.044715 x²)
Tensor gelu_tanh(const Tensor& x) {
  constexpr double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
  auto tanh_u = [](const auto& v) { return tanh((v + v * v * v * cubic) * scale); };
  auto value = [=](const auto& v) { return v * 0.5 * (tanh_u(v) + 1.0); };
  auto slope = [=](const auto& v) {
    const auto t = tanh_u(v), du = (v * v * (3 * cubic) + 1.0) * scale;
    return ((t + 1.0) + v * (1.0 - t * t) * du) * 0.5;
  };
  return function("gelu_tanh", x, value, slope);
}

/// y = x σ(x)         dx = dy σ(x) (1 + x (1 - σ(x)))
Tensor silu(const Tensor& x) {
  auto value = [](const auto& v) { return v * sigmoid(v); };
  auto slope = [](const auto& v) {
    const auto s = sigmoid(v);
    return s * (v * (1.0 - s) + 1.0);
  };
  return function("silu", x, value, slope);
}

}  // namespace reel
