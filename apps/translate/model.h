#pragma once
// The models that `translate` can train, by name, and their checkpoints.

#include <memory>
#include <optional>

#include "apps/training/checkpoint.h"
#include "apps/translate/config.h"
#include "apps/translate/corpus.h"
#include "nn/translator.h"

namespace reel::apps {

/// The model of config.model with random weights.
std::unique_ptr<nn::Translator> make_translator(const TranslateConfig& config, const TokenizerPair& tokenizers);

/// A model, the words of both its languages, and the options it is trained with.
struct TrainedTranslator {
  TranslateConfig config;
  std::optional<TokenizerPair> tokenizers{};
  std::unique_ptr<nn::Translator> model{};
};

/// From a checkpoint: `config` must be its own (config_of) in all that the model depends on. Throws, naming the file,
/// if something is missing or does not fit.
TrainedTranslator restore_translator(const Checkpoint& saved, const TranslateConfig& config);

}  // namespace reel::apps
