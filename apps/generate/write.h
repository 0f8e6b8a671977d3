#pragma once
// Letting a model write: one token after another, each drawn from what the model says may come next.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <vector>

#include "autograd/random.h"
#include "data/tokenizer.h"
#include "nn/language_model.h"
#include "nn/sampling.h"

namespace reel::apps {

/// Calls each(token) for `length` tokens that the model writes after `prompt`, which has at least one; ends early if
/// it returns false. Once the text is longer than the model's context, the model sees a window of it: nn/reader.h.
void write_tokens(nn::LanguageModel& model, const data::Tokens& prompt, std::int64_t length,
                  const nn::Sampling& sampling, Generator& generator, const std::function<bool(std::int32_t)>& each);

/// Prints the text of these tokens as they come, and ends early at an interrupt. What is not UTF-8, which a model of
/// bytes may write, shows as U+FFFD.
void print_text(std::ostream& out, nn::LanguageModel& model, const data::Tokenizer& tokenizer,
                const data::Tokens& prompt, std::int64_t length, const nn::Sampling& sampling, Generator& generator);

/// What a text starts from when no prompt is given: a line break, or the first token where the vocabulary has none.
data::Tokens default_prompt(const data::Tokenizer& tokenizer);

}  // namespace reel::apps
