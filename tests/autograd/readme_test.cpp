// What autograd/README.md shows to whoever adds an operation is what works.

#include <utility>

#include "autograd/gradcheck.h"
#include "autograd/ops/elementwise.h"
#include "tests/autograd/values.h"
#include "tests/readme_code.h"

using namespace reel;
using namespace reel::tests;

namespace {

/// y = x / (1 + x²)          dx = dy (1 - x²) / (1 + x²)²
Tensor witch(const Tensor& x) {
  auto value = [](const auto& v) { return v / (1.0 + v * v); };
  auto slope = [](const auto& v) { return (1.0 - v * v) / ((1.0 + v * v) * (1.0 + v * v)); };
  return record("witch", {x}, map("witch", on_vectors(value), x),
                [slope, x](Tensor dy, Grads& grads) { grads.add(0, chain(grads, std::move(dy), slope, x)); });
}

}  // namespace

TEST_CASE("the operation of autograd/README.md has the derivatives that it states") {
  const Tensor x = away_from_zero({2, 3}, 1);
  CHECK(gradcheck([](const auto& in) { return witch(in[0]); }, {x}).problem == "");
  CHECK(gradgradcheck([](const auto& in) { return witch(in[0]); }, {x}).problem == "");
}

TEST_CASE("the operation of autograd/README.md is the one that is tested") {
  CHECK(shows("autograd/README.md", "tests/autograd/readme_test.cpp", "/// y = x / (1 + x²)", "\n}\n"));
}

TEST_CASE("a chain rule may spread a gradient over what was summed") {
  // y = Σ x²          dx = dy 2 x
  auto sum_of_squares = [](const std::vector<Tensor>& in) {
    auto slope = [](const auto& v) { return v * 2.0; };
    const Tensor x = in[0], values = detach(x);
    return record("sum_of_squares", {x}, sum(values * values),
                  [slope, x](Tensor dy, Grads& grads) { grads.add(0, chain(grads, std::move(dy), slope, x)); });
  };
  const Tensor x = away_from_zero({2, 3}, 1);
  CHECK(gradcheck(sum_of_squares, {x}).problem == "");
  CHECK(gradgradcheck(sum_of_squares, {x}).problem == "");
}
