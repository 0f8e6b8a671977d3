#include "nn/conv_model.h"

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

TEST_CASE("conv model: names and shapes") {
  manual_seed(27);
  const ConvModel model({.vocabulary = 7, .context = 9, .embedding = 4, .kernel = 3, .depth = 1});
  CHECK(names(model) == std::vector<std::string>{"token_embedding.weight", "blocks.0.conv.weight", "blocks.0.conv.bias",
                                                 "blocks.0.norm.weight", "blocks.0.norm.bias", "toprobs.weight",
                                                 "toprobs.bias"});
  CHECK(model.context() == 9);
  CHECK(model(random_ids({3, 4}, 7, 1)).shape() == Shape{3, 4, 7});
}

TEST_CASE("conv model: looks back as far as its dilations reach, and no further") {
  manual_seed(28);
  const ConvModel model({.vocabulary = 5, .context = 20, .embedding = 16, .kernel = 2, .depth = 3});
  const int64_t reach = 1 + (2 - 1) * (8 - 1);
  const Ids tokens = random_ids({1, 20}, 5, 2);
  const Tensor before = model(tokens);
  Ids changed({1, 20}, to_vector(tokens));
  changed.data()[4] = (changed.data()[4] + 1) % 5;
  const Tensor after = model(changed);
  for (int64_t t = 0; t < 20; ++t) {
    const bool sees = t >= 4 && t < 4 + reach;
    CHECK(same_bits(before.select(1, t), after.select(1, t)) == !sees);
  }
}

TEST_CASE("conv model: gradients of every parameter") {
  manual_seed(29);
  const ConvModel model({.vocabulary = 5, .context = 6, .embedding = 3, .kernel = 2, .depth = 2, .dtype = DType::f64});
  const Ids tokens = random_ids({2, 6}, 5, 3);
  CHECK(check_parameters(model, [&] { return model(tokens); }).problem == "");
}
