#include "nn/transformer_block.h"

#include "autograd/error.h"

namespace reel::nn {

TransformerBlock::TransformerBlock(int64_t width, int64_t heads, const Options& o)
    : attention(child("attention", WideAttention(width, heads, o.dtype))),
      norm1(child("norm1", LayerNorm(width, 1e-5, o.dtype))),
      norm2(child("norm2", LayerNorm(width, 1e-5, o.dtype))),
      ff(child("ff", FeedForward(width, o.hidden > 0 ? o.hidden : 4 * width, o.activation, o.dtype))),
      drop(child("drop", Dropout(o.dropout))),
      norm_(o.norm) {
  if (o.hidden < 0) {
    fail("TransformerBlock: hidden is ", o.hidden, "; need a width, or 0 for 4 times that of the block");
  }
  if (norm_ == Norm::none) fail("TransformerBlock: without normalization nothing holds a stack of blocks in bounds");
}

Tensor TransformerBlock::operator()(const Tensor& x, const Mask& mask, WideAttention::Past* past) const {
  if (norm_ == Norm::pre) {
    const Tensor attended = drop(attention(norm1(x), mask, past)) + x;
    return drop(ff(norm2(attended))) + attended;
  }
  const Tensor attended = drop(norm1(attention(x, mask, past) + x));
  return drop(norm2(ff(attended) + attended));
}

Tensor TransformerBlock::attention_maps(const Tensor& x, const Mask& mask) const {
  return attention.attention_maps(norm_ == Norm::pre ? norm1(x) : x, mask);
}

std::vector<Tensor> attention_maps(const std::vector<TransformerBlock>& blocks, Tensor x, const Mask& mask) {
  std::vector<Tensor> maps;
  for (const TransformerBlock& block : blocks) {
    maps.push_back(block.attention_maps(x, mask));
    x = block(x, mask);
  }
  return maps;
}

}  // namespace reel::nn
