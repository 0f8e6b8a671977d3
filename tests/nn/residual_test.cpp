#include "nn/residual.h"

#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

TEST_CASE("residual: the norm stands after, before, or nowhere") {
  const Tensor x = normal({2, 3, 4}, 1);
  auto f = [](const Tensor& in) { return tanh(in) * 2.0; };
  const Tensor one = ones({4}, DType::f64), zero = zeros({4}, DType::f64);
  auto norm = [&](const Tensor& in) { return layer_norm(in, one, zero, 1e-6); };
  CHECK(same_bits(Residual(Norm::post, 4, 0, DType::f64)(x, f), norm(f(x) + x)));
  CHECK(same_bits(Residual(Norm::pre, 4, 0, DType::f64)(x, f), f(norm(x)) + x));
  CHECK(same_bits(Residual(Norm::none, 4, 0, DType::f64)(x, f), f(x)));
}

TEST_CASE("residual: names what it has") {
  CHECK(names(Residual(Norm::post, 4, 0)) == std::vector<std::string>{"layer_norm.weight", "layer_norm.bias"});
  CHECK(names(Residual(Norm::pre, 4, 0)) == names(Residual(Norm::post, 4, 0)));
  CHECK(names(Residual(Norm::none, 4, 0)).empty());
}

TEST_CASE("residual: gradients") {
  manual_seed(50);
  for (Norm norm : {Norm::post, Norm::pre}) {
    const Residual residual(norm, 3, 0, DType::f64);
    const Tensor x = normal({2, 3}, 2);
    auto output = [&](const Tensor& in) { return residual(in, [](const Tensor& y) { return y * sigmoid(y); }); };
    CHECK(check_parameters(residual, [&] { return output(x); }).problem == "");
    CHECK(gradcheck([&](const auto& in) { return output(in[0]); }, {x}).problem == "");
  }
}

TEST_CASE("residual: drops what is added, never what passes by") {
  manual_seed(51);
  Residual residual(Norm::pre, 8, 1);  // drops everything
  const Tensor x = normal({4, 8}, 3, DType::f32);
  auto output = [&] { return residual(x, [](const Tensor& in) { return in; }); };
  CHECK(same_bits(output(), x));
  residual.eval();
  CHECK_FALSE(same_bits(output(), x));
  const Residual post(Norm::post, 8, 1);
  CHECK(same_bits(post(x, [](const Tensor& in) { return in; }), layer_norm(x, ones({8}), zeros({8}), 1e-6)));

  for (Norm norm : {Norm::post, Norm::pre}) {
    Residual half(norm, 8, 0.5);
    check_drops_in_training_only(half, [&] { return half(x, [](const Tensor& in) { return in; }); });
  }
}
