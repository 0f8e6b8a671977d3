#pragma once
// KeyValueCache: what a layer of attention remembers of the tokens that it has seen.
//
// Under a causal mask a token's key and value depend on this and the earlier tokens alone: they stay what they are when
// the text goes on. Whoever keeps them computes queries, keys and values of the newest token only, and a step costs
// what one token costs, not what the whole text does. N. Shazeer: "Fast transformer decoding: one write-head is all you
// need" (2019), section 2.4.
//
// B batch, H heads, T time, D width of a head.

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel::nn {

/// What queries are compared with, and what they get for it: (B, H, T, D) and (B, H, T, E), of one dtype.
struct KeysAndValues {
  Tensor keys, values;
};

class KeyValueCache {
 public:
  KeyValueCache() = default;
  KeyValueCache(KeyValueCache&&) = default;  // a copy would share its memory, and write over it
  KeyValueCache& operator=(KeyValueCache&&) = default;

  /// How many tokens it remembers.
  int64_t length() const { return length_; }
  /// Throws if a tape is recording, for no gradient would flow back through what was kept.
  static void check_no_tape();
  /// Adds the keys and values of further tokens, and returns those of all so far: views, good until the next call.
  /// Those that are one tensor are kept as one, until they are two. Throws if a tape is recording, and if batch, heads,
  /// width or dtype differ from those before.
  KeysAndValues append(const KeysAndValues& fresh);
  /// Forgets all tokens but the first `length`. Throws unless it remembers so many.
  void truncate(int64_t length);
  /// Text i of the batch goes on from what was text rows[i]. Throws if a tape is recording.
  void reorder(const Ids& rows);

 private:
  /// Whether there are keys and values, and both are one tensor.
  bool is_one() const { return length_ > 0 && room_.keys.same(room_.values); }

  KeysAndValues room_;  // (B, H, room, D), of which the first length_ times are filled
  int64_t length_ = 0;
};

}  // namespace reel::nn
