#include "apps/generate/evaluate.h"

#include <algorithm>

#include "apps/training/eval_mode.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "data/window_sampler.h"

namespace reel::apps {

Score evaluate(nn::LanguageModel& model, std::span<const std::int32_t> tokens, std::int64_t batch_size,
               const std::string& name) {
  if (tokens.size() < 2) {
    fail(name, " has ", tokens.size(), tokens.size() == 1 ? " token" : " tokens",
         "; need at least 2, to predict one from the other");
  }
  const auto most = static_cast<std::int64_t>(tokens.size()) - 1;
  const data::TextDataset text(tokens, std::min(model.context(), most), name);
  const EvalMode mode(model);
  ScoreSum sum;
  data::SequentialSampler batches(text, batch_size);
  while (const auto batch = batches.next()) {
    const Tensor log_probs = model(batch->inputs);  // (B, T, V)
    sum.add(nll_loss(log_probs, batch->targets).item(), count_hits(log_probs, batch->targets));
  }
  return sum.score();
}

}  // namespace reel::apps
