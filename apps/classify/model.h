#pragma once
// The classifiers that `classify` can train, by name, their checkpoints, and how they are scored.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/classify/corpus.h"
#include "apps/common/checkpoint.h"
#include "apps/common/score.h"
#include "nn/classifier.h"

namespace reel::apps {

std::unique_ptr<nn::Classifier> make_classifier(const ClassifyConfig& config, std::int64_t vocabulary,
                                                std::int64_t classes);

/// A trained model, what its tokens and classes mean, and the options it was trained with.
struct TrainedClassifier {
  ClassifyConfig config;
  std::optional<data::WordTokenizer> tokenizer;
  std::vector<std::string> classes;
  std::unique_ptr<nn::Classifier> model;
};

/// From a checkpoint, or throws, naming `path`.
TrainedClassifier restore_classifier(const Checkpoint& checkpoint, const std::filesystem::path& path);

/// The most probable class of one text.
struct Guess {
  std::size_t label;
  double probability;
};
Guess best_guess(const nn::Classifier& model, const data::Tokens& text);
/// "0.9973"
std::string probability_text(double probability);

/// `logits` says what `model` makes of tokens (B, T). Only texts of equal length share a batch: nothing is padded, so
/// that no text's score depends on the others, whether the model knows padding or not. Throws if there are no texts.
Score evaluate(nn::Module& model, const std::function<Tensor(const Ids& tokens)>& logits, const EncodedTexts& texts,
               std::int64_t batch_size);

}  // namespace reel::apps
