#include <functional>
#include <utility>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/kernels/power.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "autograd/tape.h"

namespace reel {

using kernels::divide;
using kernels::select;
using kernels::splat;

/// c = a + b          da = dc          db = dc
Tensor add(const Tensor& a, const Tensor& b) {
  Tensor c = map("add", std::plus{}, a, b);
  return record("add", {a, b}, c, [](Tensor dc, Grads& grads) {
    grads.add(1, dc);
    grads.add(0, std::move(dc));
  });
}

/// c = a - b          da = dc          db = -dc
Tensor sub(const Tensor& a, const Tensor& b) {
  Tensor c = map("sub", std::minus{}, a, b);
  return record("sub", {a, b}, c, [](const Tensor& dc, Grads& grads) {
    grads.add(0, dc);
    if (grads.needs(1)) grads.add(1, neg(dc));
  });
}

/// c = a b            da = dc b        db = dc a
Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor c = map("mul", std::multiplies{}, a, b);
  return record("mul", {a, b}, c, [a = keep_for(b, a), b = keep_for(a, b)](const Tensor& dc, Grads& grads) {
    if (grads.needs(0)) grads.add(0, dc * b);
    if (grads.needs(1)) grads.add(1, dc * a);
  });
}

/// c = a / b          da = dc / b      db = -dc (c / b)
Tensor div(const Tensor& a, const Tensor& b) {
  Tensor c = map(
      "div", [](auto u, auto v) { return divide(u, v); }, a, b);
  return record("div", {a, b}, c, [b, c = keep_for(b, c)](const Tensor& dc, Grads& grads) {
    if (grads.needs(0)) grads.add(0, dc / b);
    if (grads.needs(1)) grads.add(1, -(dc * (c / b)));
  });
}

/// y = -x             dx = -dy
Tensor neg(const Tensor& x) {
  Tensor y = map(
      "neg", [](auto v) { return kernels::negate(v); }, x);
  return record("neg", {x}, y, [](const Tensor& dy, Grads& grads) { grads.add(0, -dy); });
}

/// y = x^p            dx = dy p x^(p - 1), which is 0 for p = 0, at x = 0 too
Tensor pow(const Tensor& x, double exponent) {
  auto power = [exponent](auto v) {
    using T = typename decltype(v)::value_type;
    const auto one = splat(T(1));
    if (exponent == 1) return v;
    if (exponent == 2) return v * v;
    if (exponent == 3) return v * v * v;
    if (exponent == 0.5) return kernels::sqrt(v);
    if (exponent == -0.5) return divide(one, kernels::sqrt(v));
    if (exponent == -1) return divide(one, v);
    if (exponent == -2) {  // not 1 / v²: v² may be 0, or denormal, where this is finite
      const auto inverse = divide(one, v);
      return inverse * inverse;
    }
    return kernels::pow(v, splat(static_cast<T>(exponent)));
  };
  return record("pow", {x}, map("pow", power, x), [x, exponent](const Tensor& dy, Grads& grads) {
    grads.add(0, exponent == 0 ? dy * 0.0 : dy * pow(x, exponent - 1) * exponent);
  });
}

/// c = a^b            da = dc b a^(b - 1), 0 at b = 0          db = dc c log a, 0 at a = 0 where b >= 0
Tensor pow(const Tensor& a, const Tensor& b) {
  Tensor c = map(
      "pow", [](auto u, auto v) { return kernels::pow(u, v); }, a, b);
  return record("pow", {a, b}, c, [a, b, c = keep_for(b, c)](const Tensor& dc, Grads& grads) {
    const Tensor zero = scalar(0, dc.dtype());
    if (grads.needs(0)) grads.add(0, dc * where(eq(b, zero), zero, b * pow(a, b - 1.0)));
    if (grads.needs(1)) {
      // 0 is then c log 1, and not a choice beside c log 0: a second derivative would go through both.
      const Tensor one = scalar(1, dc.dtype()), for_zero = where(gt(b, zero), one, where(eq(b, zero), one, a));
      grads.add(1, dc * (c * log(where(eq(a, zero), for_zero, a))));
    }
  });
}

/// c = max(a, b)      da = dc / 2 where a = b, 0 where a < b, else dc
Tensor maximum(const Tensor& a, const Tensor& b) {
  auto larger = [](const auto& u, const auto& v) { return maximum(u, v); };
  return record("maximum", {a, b}, map("maximum", on_vectors(larger), a, b), [a, b](const Tensor& dc, Grads& grads) {
    auto share = [](auto u, auto v) {
      using T = typename decltype(u)::value_type;
      return select(u == v, splat(T(0.5)), select(u < v, splat(T(0)), splat(T(1))));
    };
    if (grads.needs(0)) grads.add(0, dc * map("maximum", share, a, b));
    if (grads.needs(1)) grads.add(1, dc * map("maximum", share, b, a));
  });
}

void add_in_place(const Tensor& x, const Tensor& y) {
  if (!x.is_contiguous()) fail("add_in_place: x ", x.shape(), " is not contiguous; add into a copy of it");
  if (!broadcasts_to(y.shape(), x.shape())) fail("add_in_place: y ", y.shape(), " does not broadcast to x ", x.shape());
  check_same_dtype("add_in_place", x, y);
  if (needs_gradient(x) || is_recorded(x)) {
    fail("add_in_place: a gradient flows to x ", x.shape(), " on the tape that records, and would be wrong; use x + y");
  }
  if (needs_gradient(y)) {
    fail("add_in_place: y ", y.shape(), " needs a gradient, which does not flow through here; use x + y, or detach(y)");
  }
  if (x.shares_storage(y) && !x.same(y)) return add_in_place(x, copy_of(y));  // what is written may be read again
  map_into(x, std::plus{}, x, y);
  x.mark_written();
}

Tensor operator+(const Tensor& a, double b) { return add(a, scalar(b, a.dtype())); }
Tensor operator-(const Tensor& a, double b) { return sub(a, scalar(b, a.dtype())); }
Tensor operator*(const Tensor& a, double b) { return mul(a, scalar(b, a.dtype())); }
Tensor operator/(const Tensor& a, double b) { return div(a, scalar(b, a.dtype())); }
Tensor operator+(double a, const Tensor& b) { return add(scalar(a, b.dtype()), b); }
Tensor operator-(double a, const Tensor& b) { return sub(scalar(a, b.dtype()), b); }
Tensor operator*(double a, const Tensor& b) { return mul(scalar(a, b.dtype()), b); }
Tensor operator/(double a, const Tensor& b) { return div(scalar(a, b.dtype()), b); }

}  // namespace reel
