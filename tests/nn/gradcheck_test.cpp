#include "nn/gradcheck.h"

#include <cmath>

#include "autograd/tape.h"
#include "nn/layers.h"
#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

/// y = w x, whose stated gradient of w is `factor` times as large as it should be.
struct Scaled : Module {
  explicit Scaled(double wrong) : weight(parameter("weight", normal({3}, 1))), factor(wrong) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor w = weight;
    return record("scaled", {w}, detach(w * x),
                  [x, f = factor](const Tensor& dy, Grads& grads) { grads.add(0, dy * x * f); });
  }
  Tensor weight;
  double factor;
};

/// Two maps, of which the second is named only if asked for.
struct Pair : Module {
  explicit Pair(bool names_second)
      : first(child("first", Linear(3, 3, Bias::yes, DType::f64))), second(3, 2, Bias::yes, DType::f64) {
    if (names_second) child("second", second);
  }
  Tensor operator()(const Tensor& x) const { return second(tanh(first(x))); }
  Linear first, second;
};

}  // namespace

TEST_CASE("right gradients of a module's parameters pass, wrong ones are reported") {
  const Tensor x = normal({3}, 2);
  const Scaled right(1), wrong(1.001);
  CHECK(check_parameters(right, [&] { return right(x); }).problem == "");
  CHECK_THAT(check_parameters(wrong, [&] { return wrong(x); }).problem,
             ContainsSubstring("weight: input 0 (3,), element 0: the derivative says"));
  const Scaled nowhere(std::nan(""));
  CHECK(std::isnan(check_parameters(nowhere, [&] { return nowhere(x); }).worst));
}

TEST_CASE("a derivative that reads what it has written over is caught in a module, too") {
  struct Spoiling : Module {
    Tensor weight = parameter("weight", normal({3}, 1)), bias = parameter("bias", normal({3}, 2));
    Tensor operator()(const Tensor& x) const {
      return record("spoiling", {weight, bias}, detach(weight * x + bias), [x](const Tensor& dy, Grads& grads) {
        const Tensor dw = dy * x, place = grads.in_place_of(dy);
        copy(dw, place);
        grads.add(0, place);
        grads.add(1, dy);
      });
    }
  };
  const Spoiling module;
  const Tensor x = normal({3}, 3);
  const auto [problem, worst] = check_parameters(module, [&] { return module(x); });
  CHECK_THAT(problem, ContainsSubstring("bias: backward() finds another gradient than gradients()"));
  CHECK(std::isinf(worst));
  CHECK_FALSE(module.weight.has_grad());
  CHECK_FALSE(module.bias.has_grad());
}

TEST_CASE("gradients that parameters have already make no difference, and stay") {
  const Pair module(true);
  const Tensor x = normal({4, 3}, 3);
  {
    Tape tape;
    tape.backward(sum(module(x)));
  }
  const Values before = module.first.weight.grad().to_vector();
  CHECK(check_parameters(module, [&] { return module(x); }).problem == "");
  CHECK(module.first.weight.grad().to_vector() == before);
}

TEST_CASE("parameters keep their numbers") {
  const Pair module(true);
  const NamedTensors before = snapshot(module.state_dict());
  CHECK(check_parameters(module, [&] { return module(normal({4, 3}, 3)); }));
  CHECK(same_bits(module.state_dict(), before));
}

TEST_CASE("parameters keep their numbers where the output throws, too") {
  const Pair module(true);
  const NamedTensors before = snapshot(module.state_dict());
  int calls = 0;
  CHECK_THROWS_AS(check_parameters(module,
                                   [&] {
                                     if (++calls == 6) fail("enough");
                                     return module(normal({4, 3}, 3));
                                   }),
                  Error);
  CHECK(same_bits(module.state_dict(), before));
}

TEST_CASE("a parameter that the output does not depend on is reported by its name") {
  const Pair module(true);
  const Tensor x = normal({4, 3}, 3);
  CHECK_THAT(check_parameters(module, [&] { return module.first(x); }).problem,
             ContainsSubstring("second.weight: input 0 (2, 3): the whole gradient is zero"));
  CHECK_THAT(check_parameters(module, [&] { return x; }).problem, ContainsSubstring("first.weight: "));
}

TEST_CASE("a part that was not named is reported, and a module without parameters") {
  const Pair module(false);
  CHECK_THAT(check_parameters(module,
                              [&] {
                                return module(normal({4, 3}, 3));
                              })
                 .problem,
             ContainsSubstring("a leaf of the shape (2, 3) requires a gradient, and is no parameter of the module"));
  const Dropout empty(0.5);
  CHECK_THAT(check_parameters(empty, [&] { return empty(normal({3}, 1)); }).problem,
             ContainsSubstring("the module has no parameters"));
}

TEST_CASE("a module of f32 is refused by the name of its parameter") {
  const Linear module(3, 2);
  CHECK_THROWS_WITH(check_parameters(module,
                                     [&] {
                                       return module(normal({4, 3}, 3, DType::f32));
                                     }),
                    ContainsSubstring("check_parameters: weight is f32; differences need f64: make the module with"));
}
