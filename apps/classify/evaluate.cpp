#include "apps/classify/evaluate.h"

#include <algorithm>
#include <cmath>

#include "apps/training/eval_mode.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "data/batch_sampler.h"

namespace reel::apps {

Guess best_guess(nn::Classifier& model, const data::Tokens& text) {
  const EvalMode mode(model);
  const Tensor scores = model.log_probs(Ids({1, std::ssize(text)}, text));
  check_numbers(scores);
  const std::vector<double> log_probs = scores.to_vector();
  const auto best = std::max_element(log_probs.begin(), log_probs.end());
  return {static_cast<std::size_t>(best - log_probs.begin()), std::exp(*best)};
}

Score evaluate(nn::Classifier& model, const EncodedTexts& texts, std::int64_t batch_size) {
  const EvalMode mode(model);
  ScoreSum sum;
  if (texts.tokens.empty()) fail("evaluate: there are no texts");
  for (const data::Indices& rows : data::unpadded_batches(data::lengths_of(texts.tokens), batch_size)) {
    const Ids labels = data::pick(texts.labels, rows);
    const Tensor logits = model.logits(data::pad(texts.tokens, rows).ids);
    sum.add(cross_entropy(logits, labels).item(), count_hits(logits, labels));
  }
  return sum.score();
}

}  // namespace reel::apps
