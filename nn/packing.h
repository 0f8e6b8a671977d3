#pragma once
// Packing: texts of unequal length without the padding between them.
//
// A batch is as wide as its longest text; the others end in padding, from which attention looks away. What works on
// every token by itself need not see padding at all: it gets the tokens alone, one after another.
//
//   a b c .
//   d e . .     <->     a b c d e f
//   f . . .
//
// Zhai et al.: "ByteTransformer: a high-performance transformer boosted for variable-length inputs" (2022).
//
// B batch, T time, N tokens that are not padding. Shapes other than those named here throw.

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel::nn {

class Packing {
 public:
  /// Of tokens (B, T), without those that are `padding`.
  Packing(const Ids& tokens, std::int32_t padding) : Packing(eq(tokens, padding)) {}
  /// Of all places of texts (B, T), padding or not.
  static Packing whole(const Shape& texts) { return Packing(Ids::zeros(texts)); }

  int64_t batch() const { return padding_.size(0); }
  /// When each token comes: 0 for the first of its text. (N)
  const Ids& times() const { return times_; }
  /// Where each text begins among the tokens, and where the last one ends. (B + 1)
  const Ids& starts() const { return starts_; }
  /// 1 at the places that are left out. (B, T)
  const Ids& padding() const { return padding_; }
  bool has_padding() const { return times_.numel() < padding_.numel(); }
  /// (B, T) -> (N)
  Ids pack(const Ids& table) const;
  /// (B, T, D) -> (N, D)
  Tensor pack(const Tensor& padded) const;
  /// (N, D) -> (B, T, D), 0 at padding
  Tensor unpack(const Tensor& packed) const;

 private:
  explicit Packing(const Ids& padding);

  Ids padding_;         // (B, T)
  Ids places_, times_;  // (N): of each token in the table, row by row, and in its text
  Ids starts_;          // (B + 1)
};

/// Vectors of a batch of texts, padded (B, T, D) or packed (N, D).
struct Texts {
  Texts(const Tensor& padded) : vectors(padded) {}  // any tensor (B, T, D) will do
  /// Keeps a pointer to `how`.
  Texts(const Tensor& packed, const Packing& how) : vectors(packed), packing(&how) {}
  Texts(const Tensor&, Packing&&) = delete;

  int64_t batch() const { return packing ? packing->batch() : vectors.size(0); }
  Tensor padded() const { return packing ? packing->unpack(vectors) : vectors; }
  /// Vectors (B, T, _), packed if these are.
  Tensor like_these(const Tensor& others) const { return packing ? packing->pack(others) : others; }
  /// The same tokens with other vectors.
  Texts with(const Tensor& others) const { return packing ? Texts(others, *packing) : Texts(others); }

  Tensor vectors;
  const Packing* packing = nullptr;
};

}  // namespace reel::nn
