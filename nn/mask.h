#pragma once
// Mask: which keys each query may look at.
//
// A mask hides keys, never queries: a hidden key gets the score -inf and so the weight 0. A query from which all keys
// are hidden yields zeros, and no gradient flows through it.

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel::nn {

class Mask {
 public:
  /// Every query sees every key.
  static Mask none() { return Mask(Future::visible); }
  /// A query sees its own position and those before it.
  static Mask causal() { return Mask(Future::hidden); }
  /// A query sees only what is before it; the first one sees nothing.
  static Mask first() { return Mask(Future::hidden_with_present); }

  /// scores (..., queries, keys) with -inf at the hidden keys. The last query stands at the last key's position.
  Tensor apply(const Tensor& scores) const;
  /// 1 at the hidden keys: (queries, keys), for scores of that many.
  Ids hidden(int64_t queries, int64_t keys) const;

 private:
  enum class Future { visible, hidden, hidden_with_present };
  explicit Mask(Future future) : future_(future) {}

  Future future_;
};

}  // namespace reel::nn
