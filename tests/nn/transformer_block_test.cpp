#include "nn/transformer_block.h"

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

TEST_CASE("transformer block: names, shapes and size") {
  manual_seed(16);
  const TransformerBlock block(4, 2, 0);
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
  const TransformerBlock block(4, 2, 0, DType::f64);
  const Tensor x = normal({2, 3, 4}, 2);
  const Tensor attended = block.norm1(block.attention(x, Mask::causal()) + x);
  CHECK(same_bits(block(x, Mask::causal()), block.norm2(block.ff(attended) + attended)));
  CHECK_FALSE(same_bits(block(x, Mask::causal()), block(x, Mask::none())));
}

TEST_CASE("transformer block: gradients") {
  manual_seed(18);
  const TransformerBlock block(3, 2, 0, DType::f64);
  const Tensor x = normal({2, 3, 3}, 3);
  CHECK(check_parameters(block, [&] { return block(x, Mask::causal()); }).problem == "");
  CHECK(gradcheck([&](const auto& in) { return block(in[0], Mask::causal()); }, {x}).problem == "");
}

TEST_CASE("transformer block: drops in training only") {
  manual_seed(19);
  TransformerBlock block(8, 2, 0.5);
  const Tensor x = normal({2, 3, 8}, 4, DType::f32);
  CHECK_FALSE(same_bits(block(x, Mask::causal()), block(x, Mask::causal())));
  block.eval();
  CHECK(same_bits(block(x, Mask::causal()), block(x, Mask::causal())));
}
