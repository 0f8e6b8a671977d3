#pragma once
// Letting a model write: one token after another, each drawn from what the model says may come next.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "autograd/random.h"
#include "nn/language_model.h"

namespace reel::apps {

/// How the next token is drawn from the model's distribution.
struct Choice {
  double temperature = 1;  // 0 takes the most probable token, 1 the model's own distribution
  std::int64_t top_k = 0;  // only the k most probable; 0 for all
  double top_p = 1;        // only the most probable that together have this probability. Holtzman et al. (2019)
};

/// An index of `log_probs`, drawn as `choice` says.
std::int32_t draw(std::span<const double> log_probs, const Choice& choice, Generator& generator);

/// Calls each(token) for `length` tokens that the model writes after `prompt`, which has at least one; ends early if
/// it returns false.
void write_tokens(nn::LanguageModel& model, std::vector<std::int32_t> prompt, std::int64_t length, const Choice& choice,
                  Generator& generator, const std::function<bool(std::int32_t)>& each);

}  // namespace reel::apps
