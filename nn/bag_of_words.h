#pragma once
// BagOfWords: a linear classifier that ignores word order, as a baseline. Each word has a weight for each
// class; the logits are the mean weights of a text's words, plus a bias. Joulin et al.: "Bag of tricks for efficient
// text classification" (2016), without the hidden layer.

#include <cstdint>

#include "nn/classifier.h"
#include "nn/layers.h"

namespace reel::nn {

class BagOfWords : public Classifier {
 public:
  BagOfWords(int64_t vocabulary, int64_t classes, std::int32_t padding, DType dtype = DType::f32);
  /// `padding` does not count as a word.
  Tensor logits(const Ids& tokens) const override;
  Tensor operator()(const Ids& tokens) const { return logits(tokens); }

  Embedding words;  // (V, classes), from zeros
  Tensor bias;      // (classes)

 private:
  std::int32_t padding_;
};

}  // namespace reel::nn
