#pragma once
// Rows of a batch, one for each text: to drop, repeat and re-order texts, and to let them grow.

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel::nn {

/// Row rows[i] of x's first axis as row i. Where that changes nothing, x itself.
Tensor pick_rows(const Tensor& x, const Ids& rows);
/// The same for a table (B, T), which is copied.
Ids pick_rows(const Ids& table, const Ids& rows);
/// A table (B, T) and another column (B) -> (B, T + 1).
Ids append_column(const Ids& table, const Ids& column);

}  // namespace reel::nn
