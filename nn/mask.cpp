#include "nn/mask.h"

#include <algorithm>
#include <limits>

#include "autograd/ops.h"

namespace reel::nn {

Tensor Mask::apply(const Tensor& scores) const {
  if (future_ == Future::visible) return scores;
  return masked_fill(scores, hidden(scores.size(-2), scores.size(-1)), -std::numeric_limits<double>::infinity());
}

Ids Mask::hidden(int64_t queries, int64_t keys) const {
  Ids table = Ids::zeros({queries, keys});
  if (future_ == Future::visible) return table;
  for (int64_t query = 0; query < queries; ++query) {
    const int64_t present = query + keys - queries;
    const int64_t first_hidden = std::max<int64_t>(0, future_ == Future::hidden ? present + 1 : present);
    std::fill(table.data() + query * keys + std::min(first_hidden, keys), table.data() + (query + 1) * keys, 1);
  }
  return table;
}

}  // namespace reel::nn
