#include "apps/generate/score.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "apps/common/accuracy.h"
#include "apps/common/eval_mode.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "data/sampler.h"

namespace reel::apps {

double Score::bits() const { return loss * std::numbers::log2e; }
double Score::perplexity() const { return std::exp(loss); }

std::string to_string(const Score& score) {
  char line[160];
  std::snprintf(line, sizeof line, "loss %.4f nats  bits %.4f  perplexity %.3f  accuracy %.4f  tokens %lld", score.loss,
                score.bits(), score.perplexity(), score.accuracy, static_cast<long long>(score.tokens));
  return line;
}

Score evaluate(nn::LanguageModel& model, std::span<const std::int32_t> tokens, std::int64_t batch_size,
               const std::string& name) {
  if (tokens.size() < 2) fail(name, " has ", tokens.size(), " tokens; need at least 2 to predict one");
  const auto most = static_cast<std::int64_t>(tokens.size()) - 1;
  const data::TextDataset text({tokens.begin(), tokens.end()}, std::min(model.context(), most), name);
  const EvalMode mode(model);
  Score score;
  double loss = 0;
  Hits hits;
  data::SequentialSampler batches(text, batch_size);
  while (const auto batch = batches.next()) {
    const Tensor log_probs = model(batch->inputs);  // (B, T, V)
    loss += nll_loss(log_probs, batch->targets).item() * static_cast<double>(batch->targets.numel());
    hits += count_hits(log_probs, batch->targets);
  }
  score.tokens = hits.all;
  score.loss = loss / static_cast<double>(hits.all);
  score.accuracy = hits.share();
  return score;
}

}  // namespace reel::apps
