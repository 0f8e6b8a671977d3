#include "autograd/mask.h"

#include <algorithm>
#include <limits>

#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel {

Mask Mask::padding(const Ids& hidden) {
  if (hidden.rank() != 2) fail("Mask::padding: the table is ", hidden.shape(), "; need (batch, keys)");
  Mask mask = none();
  mask.padding_ = hidden;
  return mask;
}

Mask Mask::padding(const Ids& tokens, std::int32_t pad) { return padding(eq(tokens, pad)); }

Mask operator&(const Mask& a, const Mask& b) {
  if (a.padding_ && b.padding_) fail("Mask: both masks hide padding; combine one of padding with one of time");
  Mask both(std::max(a.future_, b.future_));  // each kind hides what the one before it does, and more
  both.padding_ = a.padding_ ? a.padding_ : b.padding_;
  return both;
}

Tensor Mask::apply(const Tensor& scores) const {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  if (scores.rank() < 2) fail("Mask: scores are ", scores.shape(), "; need (..., queries, keys)");
  Tensor visible = scores;
  if (future_ != Future::visible) {
    visible = masked_fill(visible, hidden_in_time(scores.size(-2), scores.size(-1)), hidden);
  }
  if (padding_) {
    if (scores.rank() < 3) fail("Mask: scores are ", scores.shape(), "; padding needs (batch, ..., queries, keys)");
    Shape shape = Shape::filled(scores.rank(), 1);  // (B, 1, ..., 1, keys)
    shape[0] = padding_->size(0);
    shape[scores.rank() - 1] = padding_->size(1);
    visible = masked_fill(visible, padding_->view(shape), hidden);
  }
  return visible;
}

Ids Mask::hidden_in_time(int64_t queries, int64_t keys) const {
  Ids table = Ids::zeros({queries, keys});
  for (int64_t query = 0; query < queries; ++query) {
    const int64_t seen = std::clamp<int64_t>(query + reach(queries, keys) + 1, 0, keys);
    std::fill(table.data() + query * keys + seen, table.data() + (query + 1) * keys, 1);
  }
  return table;
}

int64_t Mask::reach(int64_t queries, int64_t keys) const {
  switch (future_) {
    case Future::hidden:
      return keys - queries;
    case Future::hidden_with_present:
      return keys - queries - 1;
    case Future::visible:
      break;
  }
  return std::max(queries, keys);
}

}  // namespace reel
