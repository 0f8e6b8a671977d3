#pragma once
// Letting a model write: one token after another, each drawn from what the model says may come next.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <vector>

#include "autograd/random.h"
#include "data/tokenizer.h"
#include "nn/language_model.h"

namespace reel::apps {

/// How the next token is drawn from the model's distribution.
struct Choice {
  double temperature = 1;  // >= 0: 0 takes the most probable token, 1 the model's own distribution
  std::int64_t top_k = 0;  // only the k most probable; 0 for all
  double top_p = 1;        // only the most probable that together have this probability > 0. Holtzman et al. (2019)
};

/// An index of `log_probs`, drawn as `choice` says. Throws if they are not log-probabilities: a NaN, or all -infinity.
std::int32_t draw(std::span<const double> log_probs, const Choice& choice, Generator& generator);

/// Calls each(token) for `length` tokens that the model writes after `prompt`, which has at least one; ends early if
/// it returns false. Once the text is longer than the model's context, the model sees a window of it: nn/reader.h.
void write_tokens(nn::LanguageModel& model, const std::vector<std::int32_t>& prompt, std::int64_t length,
                  const Choice& choice, Generator& generator, const std::function<bool(std::int32_t)>& each);

/// Prints the text of these tokens as they come, and ends early at an interrupt. What is not UTF-8, which a model of
/// bytes may write, shows as U+FFFD.
void print_text(std::ostream& out, nn::LanguageModel& model, const data::Tokenizer& tokenizer,
                const std::vector<std::int32_t>& prompt, std::int64_t length, const Choice& choice,
                Generator& generator);

/// What a text starts from when no prompt is given: a line break, or the first token where the vocabulary has none.
std::vector<std::int32_t> default_prompt(const data::Tokenizer& tokenizer);

}  // namespace reel::apps
