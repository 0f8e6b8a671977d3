#include "nn/attention.h"

#include <cmath>

#include "autograd/error.h"

namespace reel::nn {

Tensor basic_self_attention(const Tensor& x) {
  const Tensor weights = softmax(matmul(x, x.transpose(-1, -2)), -1);  // (..., T, T)
  return matmul(weights, x);
}

double score_scale(const Tensor& queries) { return std::pow(static_cast<double>(queries.size(-1)), -0.5); }

Tensor attention_weights(const Tensor& queries, const Tensor& keys, const Mask& mask, Scaling scaling) {
  const double scale = score_scale(queries), root = std::sqrt(scale);
  const Tensor transposed = keys.transpose(-1, -2);  // (..., D, S)
  // Queries are smaller than scores: it is they that are scaled, which is the same.
  const Tensor scores =
      scaling == Scaling::scores ? matmul(queries * scale, transposed) : matmul(queries * root, transposed * root);
  return softmax(mask.apply(scores), -1);
}

Tensor dot_product_attention(const Tensor& queries, const Tensor& keys, const Tensor& values, const Mask& mask,
                             Scaling scaling, double drop) {
  // The weights of a single query, as a text's newest token is, are but a row: small steps are best at that.
  if (scaling == Scaling::scores && queries.size(-2) > 1) {
    return attention(queries, keys, values, mask, score_scale(queries), drop);
  }
  return matmul(dropout(attention_weights(queries, keys, mask, scaling), drop), values);
}

SingleHeadAttention::SingleHeadAttention(int64_t width, DType dtype)
    : tokeys(child("tokeys", Linear(width, width, Bias::no, dtype))),
      toqueries(child("toqueries", Linear(width, width, Bias::no, dtype))),
      tovalues(child("tovalues", Linear(width, width, Bias::no, dtype))) {}

Tensor SingleHeadAttention::operator()(const Tensor& x, const Mask& mask) const {
  return dot_product_attention(toqueries(x), tokeys(x), tovalues(x), mask);
}

WideAttention::WideAttention(int64_t width, int64_t heads, DType dtype)
    : tokeys(child("tokeys", Linear(width, heads * width, Bias::no, dtype))),
      toqueries(child("toqueries", Linear(width, heads * width, Bias::no, dtype))),
      tovalues(child("tovalues", Linear(width, heads * width, Bias::no, dtype))),
      unifyheads(child("unifyheads", Linear(heads * width, width, Bias::yes, dtype))),
      heads_(heads) {
  if (heads < 1) fail("WideAttention: ", heads, " heads; need at least 1");
}

Tensor WideAttention::by_head(const Tensor& all) const {
  return all.view({all.size(0), all.size(1), heads_, all.size(2) / heads_}).transpose(1, 2);
}

Tensor WideAttention::maps(const Tensor& x, const Mask& mask) const {
  return attention_weights(by_head(toqueries(x)), by_head(tokeys(x)), mask);
}

Tensor WideAttention::operator()(const Tensor& x, const Mask& mask, KeyValueCache* past) const {
  if (!past && x.size(0) * x.size(1) > x.size(2)) return joined(x, mask);
  KeysAndValues seen{by_head(tokeys(x)), by_head(tovalues(x))};
  if (past) seen = past->append(seen);
  const Tensor attended = dot_product_attention(by_head(toqueries(x)), seen.keys, seen.values, mask);  // (B, H, T, D)
  return unifyheads(attended.transpose(1, 2).reshape({x.size(0), x.size(1), heads_ * x.size(2)}));
}

Tensor WideAttention::joined(const Tensor& x, const Mask& mask) const {
  const int64_t B = x.size(0), T = x.size(1), D = x.size(2), H = heads_;
  const Tensor wq = toqueries.weight.view({H, D, D}), wk = tokeys.weight.view({H, D, D});
  const Tensor wv = tovalues.weight.view({H, D, D}), wu = unifyheads.weight.view({D, H, D}).transpose(0, 1);
  const Tensor to_queries = matmul(wk.transpose(1, 2), wq).view({H * D, D});
  const Tensor unify = matmul(wu, wv).transpose(0, 1).reshape({D, H * D});
  const Tensor queries = linear(x, to_queries, {}, Rows::spaced), seen = x.unsqueeze(1);
  const Tensor attended = dot_product_attention(by_head(queries), seen, seen, mask);  // (B, H, T, D)
  return linear(attended.transpose(1, 2).reshape({B, T, H * D}), unify, unifyheads.bias);
}

}  // namespace reel::nn
