#include "nn/conv_model.h"

#include <algorithm>

#include "nn/check_tokens.h"

namespace reel::nn {

ConvModel::Block::Block(int64_t width, int64_t kernel, int64_t dilation, double dropout, DType dtype)
    : conv(child("conv", Conv1d(width, width, kernel, {.dilation = dilation}, Bias::yes, dtype))),
      norm(child("norm", LayerNorm(width, 1e-5, dtype))),
      drop(child("drop", Dropout(dropout))),
      reach_((kernel - 1) * dilation) {}

Tensor ConvModel::Block::operator()(const Tensor& x) const {
  if (x.size(1) == 0) return x;  // no time to slide along
  // Padded on the left alone, it is causal.
  const Tensor padded = slice_scatter(x, {x.size(0), reach_ + x.size(1), x.size(2)}, 1, reach_);
  const Tensor past = conv(padded.transpose(1, 2)).transpose(1, 2);  // (B, T, D)
  return norm(drop(relu(past)) + x);
}

ConvModel::ConvModel(const Config& c)
    : token_embedding(child("token_embedding", Embedding(c.vocabulary, c.embedding, 1, c.dtype))),
      blocks(children("blocks", c.depth,
                      [&, dilation = int64_t{1}]() mutable {
                        Block block(c.embedding, c.kernel, dilation, c.dropout, c.dtype);
                        dilation = std::min(2 * dilation, c.context);  // beyond it are zeros, however far
                        return block;
                      })),
      toprobs(child("toprobs", Linear(c.embedding, c.vocabulary, Bias::yes, c.dtype))),
      context_(c.context) {}

Tensor ConvModel::operator()(const Ids& tokens) const {
  check_tokens("ConvModel", tokens, context());
  Tensor x = token_embedding(tokens);  // (B, T, D)
  for (const Block& block : blocks) x = block(x);
  return log_softmax(toprobs(x), -1);
}

}  // namespace reel::nn
