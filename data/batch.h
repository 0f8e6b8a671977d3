#pragma once
// What one training step reads.

#include "autograd/ids.h"

namespace reel::data {

/// B windows of T tokens. The target at each place is the token that follows the input there.
struct Batch {
  Ids inputs;   // (B, T)
  Ids targets;  // (B, T)
};

}  // namespace reel::data
