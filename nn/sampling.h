#pragma once
// Sampling: which token comes next, drawn from what a language model says may come.

#include <cstdint>
#include <span>

#include "autograd/random.h"

namespace reel::nn {

/// How it is drawn. top_p is from Holtzman et al. (2019).
struct Sampling {
  double temperature = 1;  // >= 0: 0 takes the most probable token, 1 the model's own distribution, infinity any
  std::int64_t top_k = 0;  // only the k most probable; 0 for all
  double top_p = 1;        // >= 0: only the most probable, as many as together reach this probability; 1 for all
};

/// An index of `log_probs`, as Reader::read() returns them; never one of probability 0. Throws if they are none: a NaN,
/// or all -infinity.
std::int32_t sample(std::span<const double> log_probs, const Sampling& sampling, Generator& generator);

}  // namespace reel::nn
