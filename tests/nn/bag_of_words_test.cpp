#include "nn/bag_of_words.h"

#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

constexpr std::int32_t pad = 0;

}  // namespace

TEST_CASE("bag of words: the mean weight of a text's words, and a bias") {
  const BagOfWords model(3, 2, pad, DType::f64);
  CHECK(names(model) == std::vector<std::string>{"words.weight", "bias"});
  CHECK(model(Ids({1, 2}, {1, 2})).to_vector() == Values{0, 0});  // starts without an opinion
  copy(f64({3, 2}, {100, 100, 1, 2, 3, 5}), model.words.weight);
  copy(f64({2}, {10, 20}), model.bias);
  CHECK(close(model(Ids({3, 3}, {1, 2, 2, 2, 1, pad, pad, pad, pad})),
              f64({3, 2}, {10 + 7.0 / 3, 24, 12, 23.5, 10, 20})));
}

TEST_CASE("bag of words: order and padding mean nothing") {
  const BagOfWords model(6, 3, pad, DType::f64);
  copy(normal({6, 3}, 1), model.words.weight);
  const Tensor y = model(Ids({1, 4}, {1, 2, 3, 4}));
  CHECK(close(model(Ids({1, 4}, {4, 2, 1, 3})), y));
  CHECK(close(model(Ids({1, 6}, {4, pad, 2, 1, 3, pad})), y));
  CHECK_FALSE(close(model(Ids({1, 4}, {1, 2, 3, 5})), y, 1e-3));
}

TEST_CASE("bag of words: of no words only the bias is left") {
  const BagOfWords model(6, 3, pad, DType::f64);
  copy(normal({6, 3}, 3), model.words.weight);
  copy(normal({3}, 4), model.bias);
  CHECK(close(model(Ids::zeros({2, 0})), model.bias.expand({2, 3})));
  CHECK(model(Ids::zeros({0, 4})).shape() == Shape{0, 3});
}

TEST_CASE("bag of words: gradients, and none for the pad") {
  const BagOfWords model(5, 2, pad, DType::f64);
  copy(normal({5, 2}, 2), model.words.weight);
  const Ids tokens({2, 3}, {1, 2, 2, 3, 4, pad});
  CHECK(check_parameters(model, [&] { return log_softmax(model(tokens), -1); }).problem == "");
  check_every_parameter_gets_a_gradient(model, [&] { return cross_entropy(model(tokens), Ids({0, 1})); });
  CHECK(model.words.weight.grad().select(0, pad).to_vector() == Values{0, 0});
}

TEST_CASE("bag of words: learns which words decide, not their order") {
  const BagOfWords model(4, 2, pad);
  const Ids tokens({4, 3}, {1, 3, 3, 2, 3, pad, 3, 1, pad, 3, 3, 2}), labels({0, 1, 0, 1});
  CHECK(learn(
            model, [&] { return cross_entropy(model(tokens), labels); }, 1500) <= 0.05);
  // The same words in another order, of another class, cannot be told apart.
  const BagOfWords blind(3, 2, pad);
  const Ids orders({2, 2}, {1, 2, 2, 1}), classes({0, 1});
  CHECK(learn(
            blind, [&] { return cross_entropy(blind(orders), classes); }, 300) > 0.69);  // log 2
}
