#include "nn/transformer_block.h"

#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

TEST_CASE("transformer block: names, shapes and size") {
  manual_seed(16);
  const TransformerBlock block(4, 2, {});
  CHECK(names(block) == std::vector<std::string>{
                            "attention.tokeys.weight", "attention.toqueries.weight", "attention.tovalues.weight",
                            "attention.unifyheads.weight", "attention.unifyheads.bias", "norm1.weight", "norm1.bias",
                            "norm2.weight", "norm2.bias", "ff.0.weight", "ff.0.bias", "ff.2.weight", "ff.2.bias"});
  CHECK(block.ff.state_dict()[0].second.shape() == Shape{16, 4});
  CHECK(block.parameter_count() == (4 * 32 + 4) + 2 * 8 + (2 * 64 + 16 + 4));
  CHECK(block(normal({2, 3, 4}, 1, DType::f32), Mask::causal()).shape() == Shape{2, 3, 4});
}

TEST_CASE("transformer block: is attention and feed-forward, each with residual and norm") {
  manual_seed(17);
  const TransformerBlock block(4, 2, {.dtype = DType::f64});
  const Tensor x = normal({2, 3, 4}, 2);
  const Tensor attended = block.norm1(block.attention(x, Mask::causal()) + x);
  CHECK(same_bits(block(x, Mask::causal()), block.norm2(block.ff(attended) + attended)));
  CHECK_FALSE(same_bits(block(x, Mask::causal()), block(x, Mask::none())));
}

TEST_CASE("transformer block: normalizes before each part, if asked") {
  manual_seed(44);
  const TransformerBlock block(4, 2, {.norm = Norm::pre, .dtype = DType::f64});
  CHECK(names(block) == names(TransformerBlock(4, 2, {})));
  const Tensor x = normal({2, 3, 4}, 5);
  const Tensor attended = block.attention(block.norm1(x), Mask::causal()) + x;
  CHECK(same_bits(block(x, Mask::causal()), block.ff(block.norm2(attended)) + attended));
  CHECK(check_parameters(block, [&] { return block(x, Mask::causal()); }).problem == "");
  CHECK(gradcheck([&](const auto& in) { return block(in[0], Mask::causal()); }, {x}).problem == "");
  CHECK_THROWS_WITH(TransformerBlock(4, 2, {.hidden = -5}), ContainsSubstring("hidden is -5; need a width, or 0"));
  CHECK_THROWS_WITH(TransformerBlock(4, 2, {.norm = Norm::none}), ContainsSubstring("without normalization"));
}

TEST_CASE("transformer block: a hidden width and GELU of its own") {
  manual_seed(45);
  const TransformerBlock block(4, 2, {.hidden = 6, .activation = Activation::gelu, .dtype = DType::f64});
  CHECK(block.ff.state_dict()[0].second.shape() == Shape{6, 4});
  const Tensor x = normal({2, 3, 4}, 6);
  const Tensor attended = block.norm1(block.attention(x, Mask::none()) + x);
  const StateDict ff = block.ff.state_dict();
  const Tensor inner = gelu(linear(attended, ff[0].second, ff[1].second));
  CHECK(same_bits(block(x, Mask::none()), block.norm2(linear(inner, ff[2].second, ff[3].second) + attended)));
  CHECK(check_parameters(block, [&] { return block(x, Mask::none()); }).problem == "");
}

TEST_CASE("transformer block: gradients") {
  manual_seed(18);
  const TransformerBlock block(3, 2, {.dtype = DType::f64});
  const Tensor x = normal({2, 3, 3}, 3);
  CHECK(check_parameters(block, [&] { return block(x, Mask::causal()); }).problem == "");
  CHECK(gradcheck([&](const auto& in) { return block(in[0], Mask::causal()); }, {x}).problem == "");
}

TEST_CASE("transformer block: drops what each part yields, where Bloem's code does") {
  manual_seed(20);
  const Tensor x = normal({2, 3, 8}, 4, DType::f32);
  const Mask mask = Mask::causal();
  for (Norm norm : {Norm::post, Norm::pre}) {
    const TransformerBlock block(8, 2, {.dropout = 0.5, .norm = norm});
    auto as_published = [&] {
      if (norm == Norm::pre) {
        const Tensor attended = dropout(block.attention(block.norm1(x), mask), 0.5) + x;
        return dropout(block.ff(block.norm2(attended)), 0.5) + attended;
      }
      const Tensor attended = dropout(block.norm1(block.attention(x, mask) + x), 0.5);
      return dropout(block.norm2(block.ff(attended) + attended), 0.5);
    };
    manual_seed(21);
    const Tensor y = block(x, mask);
    manual_seed(21);
    CHECK(same_bits(y, as_published()));
  }
}

TEST_CASE("transformer block: drops in training only") {
  manual_seed(19);
  const Tensor x = normal({2, 3, 8}, 4, DType::f32);
  for (Norm norm : {Norm::post, Norm::pre}) {
    TransformerBlock block(8, 2, {.dropout = 0.5, .norm = norm});
    check_drops_in_training_only(block, [&] { return block(x, Mask::causal()); });
  }
}
