#pragma once
// How well a model predicts a text: every token of it once, given what stands before it in its window.

#include <cstdint>
#include <span>
#include <string>

#include "apps/training/score.h"
#include "nn/language_model.h"

namespace reel::apps {

/// Reads `tokens` in windows of at most the model's context that do not overlap, `batch_size` at once. Throws, calling
/// the text `name`, if it has fewer than two tokens.
Score evaluate(nn::LanguageModel& model, std::span<const std::int32_t> tokens, std::int64_t batch_size,
               const std::string& name);

}  // namespace reel::apps
