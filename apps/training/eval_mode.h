#pragma once
// A model in evaluation until the end of a scope, and then, all of its parts, in the mode that it was in itself.

#include "nn/module.h"

namespace reel::apps {

class EvalMode {
 public:
  explicit EvalMode(nn::Module& model) : model_(model), was_training_(model.training()) { model_.eval(); }
  ~EvalMode() { model_.train(was_training_); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  nn::Module& model_;
  bool was_training_;
};

}  // namespace reel::apps
