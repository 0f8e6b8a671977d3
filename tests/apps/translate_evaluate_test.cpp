#include "apps/translate/evaluate.h"

#include <cmath>

#include "autograd/ops.h"
#include "autograd/random.h"
#include "nn/recurrent_translator.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::apps;
using data::Tokens;

namespace {

nn::RecurrentTranslator random_model() {
  manual_seed(2);
  return nn::RecurrentTranslator(
      {.source_vocabulary = 9, .target_vocabulary = 9, .width = 8, .dropout = 0.5, .padding = data::pad_id});
}

const EncodedPairs pairs{.sources = {{2, 4, 3}, {2, 5, 6, 8, 3}, {2, 4, 4, 3}, {2, 7, 3}},
                         .targets = {{2, 8, 8, 8, 3}, {2, 3}, {2, 7, 3}, {2, 4, 6}}};

}  // namespace

TEST_CASE("a score is the mean over words and ends, however pairs are batched", "[translate]") {
  nn::RecurrentTranslator model = random_model();
  model.eval();
  double loss = 0;
  for (std::size_t i = 0; i < pairs.sources.size(); ++i) {  // pair by pair, and word by word
    const Tokens &source = pairs.sources[i], &target = pairs.targets[i];
    for (std::size_t t = 1; t < target.size(); ++t) {
      const Tokens before(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(t));
      const Tensor logits = model(Ids({1, std::ssize(source)}, source), Ids({1, std::ssize(before)}, before));
      loss -= log_softmax(logits.select(1, -1), -1).to_vector()[static_cast<std::size_t>(target[t])];
    }
  }
  for (const std::int64_t batch_size : {1, 2, 3, 100}) {
    CAPTURE(batch_size);
    const Score score = evaluate(model, pairs, batch_size);
    CHECK(score.predictions == 9);
    CHECK(score.loss == Approx(loss / 9).epsilon(1e-5));
  }
}

TEST_CASE("scoring pairs does not drop out, and leaves the model as it was", "[translate]") {
  nn::RecurrentTranslator model = random_model();
  model.train();
  const double loss = evaluate(model, pairs, 2).loss;
  CHECK(model.training());
  CHECK(evaluate(model, pairs, 2).loss == loss);
  CHECK_THROWS(evaluate(model, {}, 2));
}

TEST_CASE("translations are compared with their references as the vocabulary splits those", "[translate]") {
  const std::vector<std::string> sentences{"The dog sees a cat.", "A man, old, sleeps."};
  const auto tokenizer = data::WordTokenizer::train(sentences, {.minimum_count = 2});  // most words are unknown
  const TranslationScore right =
      compare({"the dog sees a cat .", "a man , old , sleeps ."}, {.sources = {}, .targets = sentences}, tokenizer);
  CHECK(right.bleu == Approx(100));
  CHECK(right.exact == 1);
  CHECK(right.sentences == 2);
  const TranslationScore half =
      compare({"the dog sees a cat .", "a man"}, {.sources = {}, .targets = sentences}, tokenizer);
  CHECK(half.exact == 0.5);
  CHECK(half.bleu < 100);
}

TEST_CASE("a line says how translations were made and compared", "[translate]") {
  const TranslationScore score{.bleu = 36.214, .exact = 0.021, .sentences = 1000};
  CHECK(to_string(score, {}) ==
        "BLEU 36.21 (of words as split here, lower case; greedy)  exact 0.0210  sentences 1000");
  CHECK(to_string(score, {.lower_case = false}, {.beam = 5}) ==
        "BLEU 36.21 (of words as split here, cased; beam 5)  exact 0.0210  sentences 1000");
}
