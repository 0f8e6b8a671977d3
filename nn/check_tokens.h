#pragma once
// Checks that a model can read these tokens: their shape and their number.

#include "autograd/error.h"
#include "autograd/ids.h"

namespace reel::nn {

/// Throws, naming `model`, unless tokens are (B, T), and T and `earlier` ones no more than `most` in a row.
inline void check_tokens(const char* model, const Ids& tokens, int64_t most, int64_t earlier = 0) {
  if (tokens.rank() != 2) fail(model, ": tokens are ", tokens.shape(), "; need (batch, time)");
  if (const int64_t all = earlier + tokens.size(1); all > most) {
    fail(model, ": a text of ", all, " tokens is longer than the model's ", most);
  }
}

}  // namespace reel::nn
