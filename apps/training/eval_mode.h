#pragma once
// Puts a model into evaluation mode until the end of the scope. Then all of its parts are in the mode that the model
// itself had before.

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
