#pragma once
// From a probability and a generator's state to what the kernels drop by. dropout() and attention() share it.

#include <algorithm>
#include <cmath>

#include "autograd/kernels/dropout.h"
#include "autograd/kernels/philox.h"
#include "autograd/random.h"

namespace reel {

/// Drops with probability p < 1, rounded down to a multiple of 2^-32, by the random words from `start` on, which begins
/// a block. The scale is that of the rounded p: however near p is to 1, means stay what they are.
inline kernels::DropoutMask dropout_mask(double p, const Generator::State& start) {
  const auto threshold = static_cast<std::uint32_t>(std::min(std::ldexp(p, 32), 0x1p32 - 1));
  return {.key = start.seed,
          .first_block = start.position / kernels::words_per_block,
          .threshold = threshold,
          .scale = 0x1p32 / (0x1p32 - threshold)};
}

}  // namespace reel
