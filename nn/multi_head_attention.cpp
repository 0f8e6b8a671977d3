#include "nn/multi_head_attention.h"

#include "autograd/error.h"

namespace reel::nn {

MultiHeadAttention::MultiHeadAttention(const Config& c)
    : w_qs(child("w_qs", Linear(c.width, c.width, Bias::no, c.dtype))),
      w_ks(child("w_ks", Linear(c.width, c.width, Bias::no, c.dtype))),
      w_vs(child("w_vs", Linear(c.width, c.width, Bias::no, c.dtype))),
      fc(child("fc", Linear(c.width, c.width, Bias::no, c.dtype))),
      drop(child("drop", Dropout(c.dropout))),
      residual(merged(Residual(c.norm, c.width, c.dropout, c.dtype))),
      heads_(c.heads) {
  if (c.heads < 1 || c.width % c.heads != 0) {
    fail("MultiHeadAttention: ", c.heads, " heads do not divide the width of ", c.width);
  }
}

Attended MultiHeadAttention::operator()(const Tensor& x, const Tensor& memory, const Mask& mask) const {
  if (x.rank() != 3 || memory.rank() != 3 || x.size(0) != memory.size(0)) {
    fail("MultiHeadAttention: x is ", x.shape(), ", memory is ", memory.shape(),
         "; need one (batch, time, width) each");
  }
  const bool to_itself = memory.same(x);
  const int64_t B = x.size(0), D = x.size(2), H = heads_;
  auto by_head = [&](const Tensor& all) {
    return all.view({B, all.size(1), H, D / H}).transpose(1, 2);
  };  // (B, H, _, D/H)

  Tensor maps;
  const Tensor output = residual(x, [&](const Tensor& queries) {
    const Tensor& keys = to_itself ? queries : memory;
    maps = attention_weights(by_head(w_qs(queries)), by_head(w_ks(keys)), mask);  // (B, H, T, S)
    const Tensor heads = matmul(drop(maps), by_head(w_vs(keys)));                 // (B, H, T, D/H)
    return fc(heads.transpose(1, 2).reshape(x.shape()));
  });
  return {output, maps};
}

}  // namespace reel::nn
