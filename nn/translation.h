#pragma once
// Translation: what a translator has written so far of a batch of texts, and what it says comes next.
//
// A search drops some of the texts on the way, and goes on with others in more than one way: with every step it says
// which rows it keeps.

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel::nn {

class Translation {
 public:
  virtual ~Translation() = default;

  /// From now on row i is what was row rows[i] (at first there is one for each source, without a token), and tokens[i]
  /// after it. -> (rows, V): logits of the token to come next. If it throws, nothing has changed.
  virtual Tensor extend(const Ids& rows, const Ids& tokens) = 0;
};

}  // namespace reel::nn
