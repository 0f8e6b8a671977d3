#pragma once
// What one training step reads.

#include "autograd/ids.h"

namespace reel::data {

/// B windows of C tokens. The target at each place is the token that follows the input there.
struct Batch {
  Ids inputs;   // (B, C)
  Ids targets;  // (B, C)
};

}  // namespace reel::data
