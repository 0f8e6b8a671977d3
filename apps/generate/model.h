#pragma once
// The models that `generate` can train, by name, and their checkpoints.

#include <memory>
#include <span>

#include "apps/generate/config.h"
#include "apps/training/checkpoint.h"
#include "data/tokenizer.h"
#include "nn/language_model.h"

namespace reel::apps {

/// The model of config.model with random weights, or, if it counts, trained on `tokens`.
std::unique_ptr<nn::LanguageModel> make_model(const GenerateConfig& config, std::int64_t vocabulary,
                                              std::span<const std::int32_t> tokens);

/// A trained model, its tokenizer and the options it was trained with.
struct TrainedModel {
  GenerateConfig config;
  std::unique_ptr<data::Tokenizer> tokenizer{};
  std::unique_ptr<nn::LanguageModel> model{};
};

/// From a checkpoint: `config` must be its own (config_of) in all that the model depends on. Throws, naming the file,
/// if something is missing or does not fit.
TrainedModel restore_model(const Checkpoint& saved, const GenerateConfig& config);

}  // namespace reel::apps
