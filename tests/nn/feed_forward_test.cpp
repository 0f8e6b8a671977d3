#include "nn/feed_forward.h"

#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

TEST_CASE("feed forward: up and down, named by position") {
  manual_seed(60);
  const FeedForward ff(3, 5, Activation::gelu, DType::f64);
  CHECK(names(ff) == std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"});
  const StateDict state = ff.state_dict();
  CHECK(state[0].second.shape() == Shape{5, 3});
  CHECK(state[2].second.shape() == Shape{3, 5});
  const Tensor x = normal({2, 4, 3}, 1);
  auto by_hand = [&](const Tensor& inner) { return linear(inner, state[2].second, state[3].second); };
  CHECK(same_bits(ff(x), by_hand(gelu(linear(x, state[0].second, state[1].second)))));
  FeedForward with_relu(3, 5, Activation::relu, DType::f64);
  with_relu.load_state_dict(state);
  CHECK(same_bits(with_relu(x), by_hand(relu(linear(x, state[0].second, state[1].second)))));
  CHECK(check_parameters(ff, [&] { return ff(x); }).problem == "");
  CHECK(check_parameters(with_relu, [&] { return with_relu(x); }).problem == "");
}

TEST_CASE("feed forward: two convolutions of width 1") {
  manual_seed(61);
  const ConvFeedForward ff(3, 5, 0, Norm::post, DType::f64);
  CHECK(names(ff) == std::vector<std::string>{"w_1.weight", "w_1.bias", "w_2.weight", "w_2.bias", "layer_norm.weight",
                                              "layer_norm.bias"});
  CHECK(ff.w_1.weight.shape() == Shape{5, 3, 1});
  CHECK(ff.w_2.weight.shape() == Shape{3, 5, 1});
  const Tensor x = normal({2, 4, 3}, 2);
  const Tensor convolved = ff.w_2(relu(ff.w_1(x.transpose(1, 2)))).transpose(1, 2);
  CHECK(close(ff(x), ff.residual(x, [&](const Tensor&) { return convolved; })));
}

TEST_CASE("feed forward: gradients of the convolutions, with each norm") {
  manual_seed(62);
  for (Norm norm : {Norm::post, Norm::pre, Norm::none}) {
    const ConvFeedForward ff(3, 4, 0, norm, DType::f64);
    const Tensor x = normal({2, 2, 3}, 3);
    CHECK(check_parameters(ff, [&] { return ff(x); }).problem == "");
    CHECK(gradcheck([&](const auto& in) { return ff(in[0]); }, {x}).problem == "");
  }
}

TEST_CASE("feed forward: each position by itself") {
  manual_seed(63);
  const ConvFeedForward ff(4, 8, 0, Norm::post, DType::f64);
  const Tensor x = normal({1, 3, 4}, 4), changed = clone(x);
  overwrite_row(changed.select(0, 0), 1);
  const Tensor y = ff(x), z = ff(changed);
  CHECK(same_bits(y.select(1, 0), z.select(1, 0)));
  CHECK_FALSE(same_bits(y.select(1, 1), z.select(1, 1)));
  CHECK(same_bits(y.select(1, 2), z.select(1, 2)));
}

TEST_CASE("feed forward: the convolutions drop what is hidden, and what they add") {
  manual_seed(63);
  const Tensor x = normal({2, 3, 8}, 5, DType::f32);
  const ConvFeedForward ff(8, 16, 0.5);
  manual_seed(65);
  const Tensor y = ff(x);
  manual_seed(65);
  const Tensor hidden = dropout(relu(linear(x, ff.w_1.weight.squeeze(2), ff.w_1.bias)), 0.5);
  const Tensor added = dropout(linear(hidden, ff.w_2.weight.squeeze(2), ff.w_2.bias), 0.5);
  CHECK(same_bits(y, layer_norm(added + x, ones({8}), zeros({8}), 1e-6)));
}

TEST_CASE("feed forward: the convolutions drop in training only") {
  manual_seed(64);
  ConvFeedForward ff(8, 16, 0.5);
  const Tensor x = normal({2, 3, 8}, 5, DType::f32);
  check_drops_in_training_only(ff, [&] { return ff(x); });
}
