#include "nn/transformer_block.h"

namespace reel::nn {

TransformerBlock::TransformerBlock(int64_t width, int64_t heads, double dropout, DType dtype)
    : attention(child("attention", WideAttention(width, heads, dtype))),
      norm1(child("norm1", LayerNorm(width, 1e-5, dtype))),
      norm2(child("norm2", LayerNorm(width, 1e-5, dtype))),
      ff(child("ff", Sequential(Linear(width, 4 * width, Bias::yes, dtype), relu,
                                Linear(4 * width, width, Bias::yes, dtype)))),
      drop(child("drop", Dropout(dropout))) {}

Tensor TransformerBlock::operator()(const Tensor& x, const Mask& mask) const {
  const Tensor attended = drop(norm1(attention(x, mask) + x));
  return drop(norm2(ff(attended) + attended));
}

}  // namespace reel::nn
