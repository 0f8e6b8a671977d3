#pragma once
// How many examples a batch has; what draws them and what orders them both check it.

#include "autograd/error.h"
#include "autograd/shape.h"

namespace reel::data {

/// `batch_size`. Throws, naming `who`, unless it is above 0.
inline int64_t checked_batch_size(const char* who, int64_t batch_size) {
  if (batch_size <= 0) fail(who, ": the batch size is ", batch_size, "; need batch size > 0");
  return batch_size;
}

}  // namespace reel::data
