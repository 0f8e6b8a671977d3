#pragma once
// The classifiers that `classify` can train, by name, and their checkpoints.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/classify/config.h"
#include "apps/training/checkpoint.h"
#include "data/word_tokenizer.h"
#include "nn/classifier.h"

namespace reel::apps {

std::unique_ptr<nn::Classifier> make_classifier(const ClassifyConfig& config, std::int64_t vocabulary,
                                                std::int64_t classes);

/// A trained model, what its tokens and classes mean, and the options it was trained with.
struct TrainedClassifier {
  ClassifyConfig config;
  std::optional<data::WordTokenizer> tokenizer{};
  std::vector<std::string> classes{};
  std::unique_ptr<nn::Classifier> model{};
};

/// From a checkpoint: `config` must be its own (config_of) in all that the model depends on. Throws, naming the file,
/// if something is missing or does not fit.
TrainedClassifier restore_classifier(const Checkpoint& saved, const ClassifyConfig& config);

}  // namespace reel::apps
