#pragma once
// RowGradient: the gradient of a table of which few rows were read, as these rows alone.
//
//     dtable[rows[i], :] = values[i, :],          0 in every row that is not listed
//
// A batch reads some thousand rows of an embedding's table of maybe fifty thousand. To write the zeros of all others,
// to square them for the norm, to scale them and to read them back would cost more than the rows that count.
//
// Others call this a row-sparse tensor (MXNet), IndexedSlices (TensorFlow) or a coalesced sparse gradient (PyTorch).
// Here it is what Tensor::row_grad() returns; its numbers are those of the dense gradient, bit for bit.

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel {

struct RowGradient {
  Ids rows;       // (R,): ascending, each once
  Tensor values;  // (R, D), contiguous
};

/// embedding_sum(dy, ids, table_rows) without its rows of zeros: dy (..., D) for ids (...) in any order; of the same
/// id, rows are summed in the order in which they come. Throws what embedding_sum throws.
RowGradient coalesce(const Tensor& dy, const Ids& ids, int64_t table_rows);

/// sum += more, for gradients of one table. If `more` has no rows that are new to the sum, only its values are added.
/// Throws unless both have one width and dtype, and are valid RowGradients.
void add_in_place(RowGradient& sum, const RowGradient& more);

/// dtable += gradient; dtable (V, D) contiguous. Throws if that has other rows than the table.
void add_in_place(const Tensor& dtable, const RowGradient& gradient);

}  // namespace reel
