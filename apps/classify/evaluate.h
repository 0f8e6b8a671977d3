#pragma once
// What a model makes of texts, and how often it is right.

#include <cstddef>
#include <cstdint>

#include "apps/classify/corpus.h"
#include "apps/training/score.h"
#include "nn/classifier.h"

namespace reel::apps {

/// The most probable class of one text.
struct Guess {
  std::size_t label;
  double probability;
};
Guess best_guess(nn::Classifier& model, const data::Tokens& text);

/// Only texts of equal length share a batch: nothing is padded, so that no text's score depends on the others, whether
/// the model knows padding or not. Throws if there are no texts.
Score evaluate(nn::Classifier& model, const EncodedTexts& texts, std::int64_t batch_size = scoring_batch);

}  // namespace reel::apps
