#include "nn/conv_model.h"

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

/// What the model is: tap k of block i sees the token (K - 1 - k) 2^i earlier, and zeros before the first.
Tensor by_definition(const ConvModel& model, const Ids& tokens) {
  const int64_t B = tokens.size(0), T = tokens.size(1);
  Tensor x = model.token_embedding(tokens);  // (B, T, D)
  int64_t dilation = 1;
  for (const ConvModel::Block& block : model.blocks) {
    const Tensor& weight = block.conv.weight;  // (D, D, K)
    Tensor past = block.conv.bias;
    for (int64_t k = 0; k < weight.size(2); ++k) {
      const int64_t earlier = std::min((weight.size(2) - 1 - k) * dilation, T);
      const Tensor seen = cat({zeros({B, earlier, x.size(2)}, x.dtype()), x.slice(1, 0, T - earlier)}, 1);
      past = past + linear(seen, weight.select(2, k));
    }
    x = block.norm(relu(past) + x);
    if (dilation < T) dilation *= 2;
  }
  return log_softmax(model.toprobs(x), -1);
}

}  // namespace

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

TEST_CASE("conv model: is what its definition says, at every length and depth") {
  manual_seed(30);
  for (int64_t kernel : {1, 2, 3}) {
    for (int64_t depth : {1, 3, 6}) {
      CAPTURE(kernel, depth);
      const ConvModel model(
          {.vocabulary = 5, .context = 13, .embedding = 4, .kernel = kernel, .depth = depth, .dtype = DType::f64});
      for (int64_t T : {1, 2, 7, 13}) {
        const Ids tokens = random_ids({2, T}, 5, 4);
        CHECK(close(model(tokens), by_definition(model, tokens)));
      }
    }
  }
}

TEST_CASE("conv model: what depth reaches beyond the context costs nothing") {
  manual_seed(31);
  const Ids tokens = random_ids({2, 16}, 5, 5);
  for (int64_t depth : {12, 40, 70}) {
    CAPTURE(depth);
    const ConvModel model({.vocabulary = 5, .context = 16, .embedding = 4, .depth = depth, .dtype = DType::f64});
    reset_peak_memory();
    const std::size_t before = memory_stats().current;
    const Tensor y = model(tokens);
    REQUIRE(memory_stats().peak - before < 50'000);
    CHECK(close(y, by_definition(model, tokens), 1e-9));
  }
}
