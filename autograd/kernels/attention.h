#pragma once
// Attention, softmax(scale Q Kᵀ) V. It holds the weights of a few queries at a time, except for heads that are told to
// keep all of theirs.
//
// A head works on a block of queries at a time: its scores against all keys stay in the second cache, become weights
// and are used up there. The backward pass computes them again, in blocks of keys and queries, from the logarithms of
// their denominators, which is all that is kept. So memory grows with the length of a text, not with its square. As
// many heads as there is room for may keep their weights instead: that saves the backward pass one product of five.
// After Rabe, Staats: "Self-attention does not need O(n²) memory" (2021) and Dao et al.: "FlashAttention" (2022).
//
// Scores are held transposed, (keys, queries): then queries lie in the lanes of vectors, sums over keys need no sums
// within a vector, and each of the seven matrix products reads its right operand in dense rows.
//
// T queries, S keys, D their width, E the width of values.

#include <cstdint>
#include <limits>

#include "autograd/kernels/dropout.h"
#include "autograd/kernels/matmul.h"
#include "autograd/kernels/nest.h"

namespace reel::kernels {

/// One matrix a head: that of the first, and how far apart the others lie along the axes of the batch.
template <class T>
struct Heads {
  Matrix<T> first;
  Sizes strides;

  Matrix<T> at(Sizes batch, int64_t index) const {
    Matrix<T> matrix = first;
    for (std::size_t axis = batch.size(); axis-- > 0; index /= batch[axis]) {
      matrix.data += index % batch[axis] * strides[axis];
    }
    return matrix;
  }
};

struct AttentionShape {
  Sizes batch;  // one head for each index
  int64_t queries, keys, width, value_width;
  double scale;  // more than 0
  /// Query t sees keys s <= t + reach, unless they are hidden.
  int64_t reach = std::numeric_limits<std::int32_t>::max();
  /// (batch[0], S), not 0 for keys that no query sees; or null.
  const std::int32_t* hidden = nullptr;
  /// Drops weights (heads, S, T), whose rows each begin with a new block of random words.
  DropoutMask dropout{};
  /// How many heads keep their weights for the backward pass.
  int64_t heads_kept = 0;

  /// Multiplications in the forward products of all heads.
  int64_t work() const;
};

/// Grain of a parallel loop over `parts` equal parts that cost `work` multiplications in all.
int64_t attention_grain(int64_t work, int64_t parts);

/// How many blocks of random words it takes to drop the weights of all heads.
int64_t dropout_blocks(const AttentionShape& shape);

/// How many elements the weights of a head take, gaps between their rows included.
template <class T>
int64_t weights_size(const AttentionShape& shape);

/// Writes out (T, E) of every head, its rows dense, and log Σ exp(scores) of every query. A query that sees nothing has
/// the output 0, and +inf instead of the logarithm. `weights` has room for those of the heads that keep them, in an
/// order known here alone.
template <class T>
void attention(const AttentionShape& shape, const Heads<const T>& q, const Heads<const T>& k, const Heads<const T>& v,
               const Heads<T>& out, T* log_sums, T* weights);

/// dq, dk and dv from the gradient of out; the rows of all of them are dense. Where dk and dv have the stride 0 along
/// the last axis of the batch, what its heads contribute is added up. dq may be q, whose rows must then be dense,
/// too, and dk and dv may be one, which gets the sum of both. `weights` are those that attention() kept, or null. With
/// P = softmax(scale Q Kᵀ), and without dropout:
///   dV = Pᵀ dO          dP = dO Vᵀ          dS = P (dP - Σ dO O)          dQ = scale dS K          dK = scale dSᵀ Q
template <class T>
void attention_backward(const AttentionShape& shape, const Heads<const T>& q, const Heads<const T>& k,
                        const Heads<const T>& v, const Heads<const T>& out, const T* log_sums, const T* weights,
                        const Heads<const T>& dout, const Heads<T>& dq, const Heads<T>& dk, const Heads<T>& dv);

}  // namespace reel::kernels
