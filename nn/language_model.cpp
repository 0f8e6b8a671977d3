#include "nn/language_model.h"

#include "autograd/error.h"

namespace reel::nn {

void LanguageModel::check_tokens(const char* model, const Ids& tokens) const {
  if (tokens.rank() != 2) fail(model, ": tokens are ", tokens.shape(), "; need (batch, time)");
  if (tokens.size(1) > context()) {
    fail(model, ": ", tokens.size(1), " tokens are more than the context of ", context());
  }
}

}  // namespace reel::nn
