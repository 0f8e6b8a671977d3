#pragma once
// What one training step reads, and a check of the batch size.

#include "autograd/error.h"
#include "autograd/ids.h"

namespace reel::data {

/// B windows of T tokens. The target at each place is the token that follows the input there.
struct Batch {
  Ids inputs;   // (B, T)
  Ids targets;  // (B, T)
};

/// `batch_size`. Throws, naming `who`, unless it is above 0.
inline int64_t checked_batch_size(const char* who, int64_t batch_size) {
  if (batch_size <= 0) fail(who, ": the batch size is ", batch_size, "; need batch size > 0");
  return batch_size;
}

}  // namespace reel::data
