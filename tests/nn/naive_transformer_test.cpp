#include "nn/naive_transformer.h"

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

TEST_CASE("naive transformer: names and shapes") {
  manual_seed(23);
  const NaiveTransformer model({.vocabulary = 7, .context = 5, .embedding = 4, .depth = 1});
  CHECK(names(model) ==
        std::vector<std::string>{"token_embedding.weight", "pos_embedding.weight", "blocks.0.attention.tokeys.weight",
                                 "blocks.0.attention.toqueries.weight", "blocks.0.attention.tovalues.weight",
                                 "blocks.0.norm.weight", "blocks.0.norm.bias", "norm.weight", "norm.bias",
                                 "projection.weight", "projection.bias"});
  CHECK(model.context() == 5);
  CHECK(model.logits(random_ids({4}, 7, 1)).shape() == Shape{4, 7});
  CHECK(model(random_ids({3, 4}, 7, 1)).shape() == Shape{3, 4, 7});
}

TEST_CASE("naive transformer: a batch is its texts, one by one") {
  manual_seed(24);
  const NaiveTransformer model({.vocabulary = 7, .context = 5, .embedding = 4, .depth = 2});
  const Tensor both = model(Ids({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(same_bits(both.select(0, 0), log_softmax(model.logits(Ids({1, 2, 3})), -1)));
  CHECK(same_bits(both.select(0, 1), log_softmax(model.logits(Ids({4, 5, 6})), -1)));
}

TEST_CASE("naive transformer: drops embeddings and scores") {
  manual_seed(25);
  const NaiveTransformer model({.vocabulary = 7, .context = 4, .embedding = 4, .depth = 1, .dropout = 0.5});
  const Ids tokens({1, 2, 3});
  manual_seed(26);
  const Tensor y = model.logits(tokens);
  manual_seed(26);
  const Tensor x = dropout(model.token_embedding(tokens) + model.pos_embedding.weight.slice(0, 0, 3), 0.5);
  CHECK(same_bits(y, dropout(model.projection(model.norm(model.blocks[0](x))), 0.5)));
}

TEST_CASE("naive transformer: refuses a text that is longer than its context, or none") {
  manual_seed(24);
  const NaiveTransformer model({.vocabulary = 7, .context = 1, .embedding = 4, .depth = 1});
  CHECK_THROWS_WITH(model.logits(Ids({1, 2})), ContainsSubstring("tokens are (2,); need (T) of one text, T up to"));
  CHECK_THROWS_WITH(model.logits(Ids({1, 1}, {1})), ContainsSubstring("tokens are (1, 1); need (T)"));
}

TEST_CASE("naive transformer: a block adds to its input") {
  manual_seed(25);
  const NaiveTransformer::Block block(4, DType::f64);
  const Tensor x = normal({3, 4}, 2);
  CHECK(same_bits(block(x), block.norm(block.attention(x, Mask::causal())) + x));
}

TEST_CASE("naive transformer: shows where it looks, each token at itself and those before it") {
  manual_seed(27);
  const NaiveTransformer model({.vocabulary = 7, .context = 5, .embedding = 4, .depth = 2, .dtype = DType::f64});
  const Ids tokens = random_ids({2, 4}, 7, 4);
  const std::vector<Tensor> maps = model.attention_maps(tokens);
  REQUIRE(maps.size() == 2);
  for (const Tensor& map : maps) {
    REQUIRE(map.shape() == Shape{2, 1, 4, 4});
    for (double total : sum(map, {3}).to_vector()) CHECK(total == Approx(1));
    CHECK(same_bits(triu(map, 1), zeros({2, 1, 4, 4}, DType::f64)));
  }
  const Tensor x = model.token_embedding(tokens) + model.pos_embedding.weight.slice(0, 0, 4);
  const SingleHeadAttention& attention = model.blocks[1].attention;
  CHECK(close(maps[1].select(1, 0), attention.attention_maps(model.blocks[0](x), Mask::causal())));
  CHECK_THROWS_WITH(model.attention_maps(Ids::zeros({1, 6})), ContainsSubstring("longer than the model's 5"));
}

TEST_CASE("naive transformer: gradients of every parameter") {
  manual_seed(26);
  const NaiveTransformer model({.vocabulary = 5, .context = 4, .embedding = 3, .depth = 2, .dtype = DType::f64});
  const Ids tokens = random_ids({2, 4}, 5, 3);
  CHECK(check_parameters(model, [&] { return model(tokens); }).problem == "");
}
