#include "nn/conv_model.h"

namespace reel::nn {

ConvModel::Block::Block(int64_t width, int64_t kernel, int64_t dilation, double dropout, DType dtype)
    : conv(child("conv", Conv1d(width, width, kernel, {.padding = (kernel - 1) * dilation, .dilation = dilation},
                                Bias::yes, dtype))),
      norm(child("norm", LayerNorm(width, 1e-5, dtype))),
      drop(child("drop", Dropout(dropout))) {}

Tensor ConvModel::Block::operator()(const Tensor& x) const {
  // The convolution pads both ends; without what it computes past the end it is causal.
  const Tensor past = conv(x.transpose(1, 2)).slice(2, 0, x.size(1)).transpose(1, 2);  // (B, T, D)
  return norm(drop(relu(past)) + x);
}

ConvModel::ConvModel(const Config& c)
    : token_embedding(child("token_embedding", Embedding(c.vocabulary, c.embedding, c.dtype))),
      blocks(children("blocks", c.depth,
                      [&, dilation = int64_t{1}]() mutable {
                        Block block(c.embedding, c.kernel, dilation, c.dropout, c.dtype);
                        dilation *= 2;
                        return block;
                      })),
      toprobs(child("toprobs", Linear(c.embedding, c.vocabulary, Bias::yes, c.dtype))),
      context_(c.context) {}

Tensor ConvModel::operator()(const Ids& tokens) const {
  check_tokens("ConvModel", tokens);
  Tensor x = token_embedding(tokens);  // (B, T, D)
  for (const Block& block : blocks) x = block(x);
  return log_softmax(toprobs(x), -1);
}

}  // namespace reel::nn
