#pragma once
// Copies between any two layouts of one shape, converting the type on the way.

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "autograd/kernels/nest.h"
#include "autograd/kernels/parallel.h"

namespace reel::kernels {

template <class From, class To>
void copy(Sizes sizes, const From* from, Sizes from_strides, To* to, Sizes to_strides) {
  constexpr int64_t copies_per_chunk = 2 * elements_per_chunk;
  const Nest<2> nest(sizes, {from_strides, to_strides});
  const int64_t n = nest.row_length(), from_step = nest.row_stride(0), to_step = nest.row_stride(1);
  const bool dense = std::is_same_v<From, To> && (n == 1 || (from_step == 1 && to_step == 1));
  if (n == 0) return;

  auto copy_row = [&](const From* source, To* target, int64_t count) {
    if (dense) {
      std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(To));
    } else {
      for (int64_t i = 0; i < count; ++i) target[i * to_step] = static_cast<To>(source[i * from_step]);
    }
  };

  // Long rows are cut, short ones bundled, so that every thread finds work.
  const int64_t piece = std::min(n, copies_per_chunk), pieces = divide_up(n, piece);
  parallel_for(nest.rows() * pieces, copies_per_chunk / piece, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const auto [source, target] = nest.offsets(unit / pieces);
      const int64_t start = unit % pieces * piece;
      copy_row(from + source + start * from_step, to + target + start * to_step, std::min(piece, n - start));
    }
  });
}

}  // namespace reel::kernels
