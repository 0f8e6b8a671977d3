#pragma once
// What every model that labels texts can do: say how probable each class is.

#include <vector>

#include "autograd/ids.h"
#include "autograd/ops.h"
#include "nn/module.h"

namespace reel::nn {

class Classifier : public Module {
 public:
  /// tokens (B, T) -> logits (B, classes). Throws if T is more than the model can read.
  virtual Tensor logits(const Ids& tokens) const = 0;
  /// The same as log-probabilities.
  Tensor log_probs(const Ids& tokens) const { return log_softmax(logits(tokens), -1); }

  /// Where attention looks, for each block (B, H, T, T); nothing for a model without attention.
  virtual std::vector<Tensor> attention_maps(const Ids&) const { return {}; }

 protected:
  Classifier() = default;
  Classifier(const Classifier&) = default;
  Classifier(Classifier&&) = default;
};

}  // namespace reel::nn
