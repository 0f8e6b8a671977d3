#pragma once
// How often a model is right.

#include <cstdint>

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel::apps {

struct Hits {
  std::int64_t right = 0;
  std::int64_t all = 0;

  /// Of what was asked, at least once, the part that was right.
  double share() const { return static_cast<double>(right) / static_cast<double>(all); }
  Hits& operator+=(const Hits& more);
};

/// How often the largest of scores (..., V) is the one that targets (...) name. Throws unless there is a target for
/// each V scores, and each is one of them.
Hits count_hits(const Tensor& scores, const Ids& targets);

}  // namespace reel::apps
