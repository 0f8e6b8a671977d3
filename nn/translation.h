#pragma once
// Translation: the translations of a batch of texts so far, and the translator's scores for what comes next.
//
// A search drops some of the texts on the way, and goes on with others in more than one way: with every step it says
// which rows it keeps.

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel::nn {

class Translation {
 public:
  virtual ~Translation() = default;

  /// Row i now goes on from the old row rows[i] (at first, row b is source b, without tokens), followed by tokens[i].
  /// -> (rows, V): logits of the next token. If it refuses rows or tokens, or a tape that records, nothing has changed;
  /// after any other error, such as for want of memory, begin anew.
  virtual Tensor extend(const Ids& rows, const Ids& tokens) = 0;
};

}  // namespace reel::nn
