#pragma once
// The models that `translate` can train, by name, and their checkpoints.

#include <filesystem>
#include <memory>
#include <optional>

#include "apps/common/checkpoint.h"
#include "apps/translate/config.h"
#include "data/word_tokenizer.h"
#include "nn/translator.h"

namespace reel::apps {

std::unique_ptr<nn::Translator> make_translator(const TranslateConfig& config, std::int64_t source_vocabulary,
                                                std::int64_t target_vocabulary);

/// A trained model, the words of both its languages, and the options it was trained with.
struct TrainedTranslator {
  TranslateConfig config;
  std::optional<data::WordTokenizer> source, target;
  std::unique_ptr<nn::Translator> model;
};

/// From a checkpoint, or throws, naming `path`.
TrainedTranslator restore_translator(const Checkpoint& checkpoint, const std::filesystem::path& path);

}  // namespace reel::apps
