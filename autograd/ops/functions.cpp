#include <numbers>

#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "autograd/tape.h"

namespace reel {

using kernels::select;
using kernels::splat;

/// y = e^x            dx = dy y
Tensor exp(const Tensor& x) {
  Tensor y = map(
      "exp", [](auto v) { return kernels::exp(v); }, x);
  return record("exp", {x}, y, [y](const Tensor& dy, Grads& grads) { grads.add(0, dy * y); });
}

/// y = log x          dx = dy / x
Tensor log(const Tensor& x) {
  Tensor y = map(
      "log", [](auto v) { return kernels::log(v); }, x);
  return record("log", {x}, y, [x](const Tensor& dy, Grads& grads) { grads.add(0, dy / x); });
}

/// y = √x             dx = dy / (2 y)
Tensor sqrt(const Tensor& x) {
  Tensor y = map(
      "sqrt", [](auto v) { return kernels::sqrt(v); }, x);
  return record("sqrt", {x}, y, [y](const Tensor& dy, Grads& grads) { grads.add(0, dy / (y * 2.0)); });
}

/// y = |x|            dx = dy sign(x), 0 at the kink
Tensor abs(const Tensor& x) {
  Tensor y = map(
      "abs", [](auto v) { return kernels::abs(v); }, x);
  return record("abs", {x}, y, [x](const Tensor& dy, Grads& grads) {
    auto sign = [](auto v) {
      using T = typename decltype(v)::value_type;
      return select(v > splat(T(0)), splat(T(1)), select(v < splat(T(0)), splat(T(-1)), splat(T(0))));
    };
    grads.add(0, dy * map("sign", sign, x));
  });
}

/// y = sin x          dx = dy cos x
Tensor sin(const Tensor& x) {
  Tensor y = map(
      "sin", [](auto v) { return kernels::sin(v); }, x);
  return record("sin", {x}, y, [x](const Tensor& dy, Grads& grads) { grads.add(0, dy * cos(x)); });
}

/// y = cos x          dx = -dy sin x
Tensor cos(const Tensor& x) {
  Tensor y = map(
      "cos", [](auto v) { return kernels::cos(v); }, x);
  return record("cos", {x}, y, [x](const Tensor& dy, Grads& grads) { grads.add(0, -(dy * sin(x))); });
}

/// y = tanh x         dx = dy (1 - y²)
Tensor tanh(const Tensor& x) {
  Tensor y = map(
      "tanh", [](auto v) { return kernels::tanh(v); }, x);
  return record("tanh", {x}, y, [y](const Tensor& dy, Grads& grads) { grads.add(0, dy * (1.0 - y * y)); });
}

/// y = 1 / (1 + e^-x)          dx = dy y (1 - y)
Tensor sigmoid(const Tensor& x) {
  auto logistic = [](auto v) {
    using T = typename decltype(v)::value_type;
    return splat(T(1)) / (splat(T(1)) + kernels::exp(-v));
  };
  Tensor y = map("sigmoid", logistic, x);
  return record("sigmoid", {x}, y, [y](const Tensor& dy, Grads& grads) { grads.add(0, dy * y * (1.0 - y)); });
}

/// y = 2/√π ∫₀ˣ e^-t² dt       dx = dy 2/√π e^-x²
Tensor erf(const Tensor& x) {
  Tensor y = map(
      "erf", [](auto v) { return kernels::erf(v); }, x);
  return record("erf", {x}, y, [x](const Tensor& dy, Grads& grads) {
    grads.add(0, dy * exp(-(x * x)) * (2.0 * std::numbers::inv_sqrtpi));
  });
}

/// y = max(x, 0)      dx = dy where x > 0
Tensor relu(const Tensor& x) {
  auto rectify = [](auto v) {
    using T = typename decltype(v)::value_type;
    return select(v < splat(T(0)), splat(T(0)), v);  // a NaN stays
  };
  Tensor y = map("relu", rectify, x);
  return record("relu", {x}, y, [y](const Tensor& dy, Grads& grads) { grads.add(0, where_positive(y, dy)); });
}

/// y = x Φ(x), Φ(x) = (1 + erf(x/√2)) / 2          dx = dy (Φ(x) + x φ(x)), φ(x) = e^(-x²/2) / √(2π)
Tensor gelu(const Tensor& x) {
  auto value = [](auto v) {
    using T = typename decltype(v)::value_type;
    const auto half = splat(T(0.5)), one = splat(T(1)), scale = splat(T(1 / std::numbers::sqrt2));
    return v * half * (one + kernels::erf(v * scale));
  };
  return record("gelu", {x}, map("gelu", value, x), [x](const Tensor& dy, Grads& grads) {
    Tensor distribution = (erf(x * (1 / std::numbers::sqrt2)) + 1.0) * 0.5;
    Tensor density = exp(x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    grads.add(0, dy * (distribution + x * density));
  });
}

/// y = x (1 + tanh u) / 2, u = √(2/π) (x + 0.044715 x³)
/// dx = dy ((1 + tanh u) / 2 + x (1 - tanh² u) u' / 2), u' = √(2/π) (1 + 3 · 0.044715 x²)
Tensor gelu_tanh(const Tensor& x) {
  constexpr double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
  auto value = [](auto v) {
    using T = typename decltype(v)::value_type;
    const auto u = splat(T(scale)) * (v + splat(T(cubic)) * v * v * v);
    return splat(T(0.5)) * v * (splat(T(1)) + kernels::tanh(u));
  };
  return record("gelu_tanh", {x}, map("gelu_tanh", value, x), [x](const Tensor& dy, Grads& grads) {
    Tensor square = x * x;
    Tensor t = tanh((x + x * square * cubic) * scale);
    Tensor du = (square * (3 * cubic) + 1.0) * scale;
    grads.add(0, dy * ((t + 1.0) + x * (1.0 - t * t) * du) * 0.5);
  });
}

/// y = x σ(x)         dx = dy σ(x) (1 + x (1 - σ(x)))
Tensor silu(const Tensor& x) {
  auto value = [](auto v) {
    using T = typename decltype(v)::value_type;
    return v / (splat(T(1)) + kernels::exp(-v));
  };
  return record("silu", {x}, map("silu", value, x), [x](const Tensor& dy, Grads& grads) {
    Tensor s = sigmoid(x);
    grads.add(0, dy * s * (x * (1.0 - s) + 1.0));
  });
}

}  // namespace reel
