#pragma once
// Mask: which keys each query may look at.
//
// A mask hides keys, never queries: a hidden key gets the score -inf and so the weight 0. A query from which all keys
// are hidden yields zeros, and no gradient flows through it.

#include <optional>

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel {

class Mask {
 public:
  /// Every query sees every key.
  static Mask none() { return Mask(Future::visible); }
  /// A query sees its own position and those before it.
  static Mask causal() { return Mask(Future::hidden); }
  /// A query sees only what is before it; the first one sees nothing.
  static Mask first() { return Mask(Future::hidden_with_present); }
  /// No query sees the keys (B, S) where `hidden` is 1: what pads the shorter texts of a batch.
  static Mask padding(const Ids& hidden);
  /// The same for the tokens (B, S) that are `pad`.
  static Mask padding(const Ids& tokens, std::int32_t pad);
  /// Hides what either one hides. Throws if both hide padding.
  friend Mask operator&(const Mask& a, const Mask& b);

  /// scores (..., queries, keys) with -inf at the hidden keys. The last query stands at the last key's position. With
  /// padding, the first axis of scores is the batch.
  Tensor apply(const Tensor& scores) const;
  /// (queries, keys): 1 where the causal part hides a key, 0 elsewhere.
  Ids hidden_in_time(int64_t queries, int64_t keys) const;
  /// The same as one number: query t sees the keys s <= t + reach.
  int64_t reach(int64_t queries, int64_t keys) const;
  /// The causal part alone, without padding.
  Mask in_time() const { return Mask(future_); }
  /// (B, S): 1 at the keys that padding hides.
  const std::optional<Ids>& padding() const { return padding_; }

 private:
  enum class Future { visible, hidden, hidden_with_present };
  explicit Mask(Future future) : future_(future) {}

  Future future_;
  std::optional<Ids> padding_;
};

}  // namespace reel
