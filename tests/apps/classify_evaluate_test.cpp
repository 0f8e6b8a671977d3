#include "apps/classify/evaluate.h"

#include <algorithm>
#include <cmath>

#include "autograd/creation.h"
#include "autograd/random.h"
#include "nn/transformer_classifier.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::apps;

namespace {

nn::CTransformer random_model() {
  manual_seed(2);
  return nn::CTransformer(
      {.vocabulary = 9, .classes = 3, .length = 6, .embedding = 8, .heads = 2, .depth = 1, .block = {.dropout = 0.5}});
}

const EncodedTexts texts{.tokens = {{4, 5}, {6}, {7, 8}, {4, 4, 5, 6, 7, 8}, {5, 4}}, .labels = {0, 2, 1, 0, 2}};

Score score_of(nn::Classifier& model, std::int64_t batch_size) { return evaluate(model, texts, batch_size); }

}  // namespace

TEST_CASE("a guess is the most probable class", "[classify]") {
  nn::CTransformer model = random_model();
  model.eval();
  for (const data::Tokens& text : texts.tokens) {
    const std::vector<double> log_probs = model.log_probs(Ids({1, std::ssize(text)}, text)).to_vector();
    const Guess guess = best_guess(model, text);
    CHECK(log_probs[guess.label] == *std::max_element(log_probs.begin(), log_probs.end()));
    CHECK(guess.probability == std::exp(log_probs[guess.label]));
  }
}

TEST_CASE("a score of texts is their mean, however they are batched", "[classify]") {
  nn::CTransformer model = random_model();
  model.eval();
  double loss = 0, right = 0;
  for (std::size_t i = 0; i < texts.tokens.size(); ++i) {
    const data::Tokens& text = texts.tokens[i];
    const auto label = static_cast<std::size_t>(texts.labels[i]);
    loss -= model.log_probs(Ids({1, std::ssize(text)}, text)).to_vector()[label] / 5;
    right += best_guess(model, text).label == label ? 1 : 0;
  }
  for (const std::int64_t batch_size : {1, 2, 3, 100}) {
    CAPTURE(batch_size);
    const Score score = score_of(model, batch_size);
    CHECK(score.predictions == 5);
    CHECK(score.loss == Approx(loss).epsilon(1e-5));
    CHECK(score.accuracy == right / 5);
  }
}

TEST_CASE("guessing and scoring do not drop out, and leave the model as it was", "[classify]") {
  nn::CTransformer model = random_model();
  model.train();
  const double loss = score_of(model, 2).loss, probability = best_guess(model, texts.tokens[3]).probability;
  CHECK(model.training());
  CHECK(score_of(model, 2).loss == loss);
  CHECK(best_guess(model, texts.tokens[3]).probability == probability);
}

TEST_CASE("a classifier of one's own is scored by its own logits", "[classify]") {
  struct AlwaysTheLast : nn::Classifier {
    Tensor logits(const Ids& tokens) const override { return tensor({1, 3}, {0, 0, 1}).expand({tokens.size(0), 3}); }
  };
  AlwaysTheLast model;
  CHECK(best_guess(model, {4}).label == 2);
  CHECK(score_of(model, 2).accuracy == 0.4);
  CHECK(model.attention_maps(Ids({1, 1}, {4})).empty());

  struct NoNumbers : nn::Classifier {
    Tensor logits(const Ids&) const override { return tensor({1, 3}, {0, std::nan(""), 1}); }
  };
  NoNumbers broken;
  CHECK_THROWS_WITH(best_guess(broken, {4}), ContainsSubstring("the model's scores are not numbers"));
}

TEST_CASE("no texts have no score", "[classify]") {
  nn::CTransformer model = random_model();
  CHECK_THROWS_WITH(evaluate(model, {}, 2), "evaluate: there are no texts");
}
