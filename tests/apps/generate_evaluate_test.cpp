#include "apps/generate/evaluate.h"

#include <algorithm>
#include <vector>

#include "autograd/error.h"
#include "nn/conv_model.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::apps;

namespace {

constexpr std::int64_t V = 5, C = 6;

std::vector<std::int32_t> random_tokens(std::size_t count) {
  Generator generator(1);
  std::vector<std::int32_t> tokens;
  while (tokens.size() < count) tokens.push_back(static_cast<std::int32_t>(generator.below(V)));
  return tokens;
}

nn::ConvModel random_model() {
  manual_seed(2);
  return nn::ConvModel({.vocabulary = V, .context = C, .embedding = 8, .depth = 1, .dropout = 0.5});
}

/// The same by the definition: each token on its own, after those before it in its window of C.
Score plain_score(nn::LanguageModel& model, const std::vector<std::int32_t>& tokens) {
  model.eval();
  Score score;
  double right = 0;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const std::size_t begin = (i - 1) / C * C;
    const Ids window({1, static_cast<std::int64_t>(i - begin)}, {tokens.data() + begin, tokens.data() + i});
    const std::vector<double> all = model(window).to_vector();
    const std::vector<double> next(all.end() - V, all.end());
    const double log_prob = next[static_cast<std::size_t>(tokens[i])];
    score.loss -= log_prob;
    right += log_prob == *std::max_element(next.begin(), next.end()) ? 1 : 0;
    ++score.predictions;
  }
  score.loss /= static_cast<double>(score.predictions);
  score.accuracy = right / static_cast<double>(score.predictions);
  return score;
}

}  // namespace

TEST_CASE("a score is the mean over tokens, however they are batched", "[evaluate]") {
  nn::ConvModel model = random_model();
  for (std::size_t size : {2u, 3u, 6u, 7u, 8u, 13u, 14u, 100u}) {
    const auto tokens = random_tokens(size);
    const Score expected = plain_score(model, tokens);
    for (std::int64_t batch_size : {1, 2, 3, 5, 1000}) {
      CAPTURE(size, batch_size);
      const Score score = evaluate(model, tokens, batch_size, "text");
      CHECK(score.predictions == static_cast<std::int64_t>(size) - 1);
      CHECK(score.loss == Approx(expected.loss).epsilon(1e-5));
      CHECK(score.accuracy == Approx(expected.accuracy).epsilon(1e-12));
    }
  }
}

TEST_CASE("scoring does not drop out, and leaves the model as it was", "[evaluate]") {
  nn::ConvModel model = random_model();
  const auto tokens = random_tokens(50);
  model.train();
  const double loss = evaluate(model, tokens, 4, "text").loss;
  CHECK(model.training());
  CHECK(evaluate(model, tokens, 4, "text").loss == loss);
  model.eval();
  CHECK(evaluate(model, tokens, 4, "text").loss == loss);
  CHECK_FALSE(model.training());
}

TEST_CASE("a text without a token to predict cannot be scored", "[evaluate]") {
  nn::ConvModel model = random_model();
  CHECK_THROWS_WITH(evaluate(model, random_tokens(1), 4, "the test part"),
                    "the test part has 1 token; need at least 2, to predict one from the other");
  CHECK_THROWS_AS(evaluate(model, {}, 4, "text"), Error);
}
