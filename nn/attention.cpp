#include "nn/attention.h"

#include <cmath>

#include "autograd/error.h"
#include "autograd/ops/attention_shapes.h"
#include "autograd/ops/layout.h"

namespace reel::nn {
namespace {

int64_t checked_heads(int64_t heads) {
  if (heads < 1) fail("WideAttention: ", heads, " heads; need at least 1");
  return heads;
}

}  // namespace

Tensor basic_self_attention(const Tensor& x) {
  const Tensor weights = softmax(matmul(x, x.transpose(-1, -2)), -1);  // (..., T, T)
  return matmul(weights, x);
}

double score_scale(const Tensor& queries) { return std::pow(static_cast<double>(queries.size(-1)), -0.5); }

Tensor attention_weights(const Tensor& queries, const Tensor& keys, const Mask& mask) {
  // Queries are smaller than scores: it is they that are scaled, which is the same.
  const Tensor scores = matmul(queries * score_scale(queries), keys.transpose(-1, -2));  // (..., T, S)
  return softmax(mask.apply(scores), -1);
}

Tensor dot_product_attention(const Tensor& queries, const Tensor& keys, const Tensor& values, const Mask& mask,
                             double drop) {
  check_attention_shapes("dot_product_attention", queries, keys, values, mask);
  // A single query, such as the newest token of a text, has one row of weights: fusing does not pay. And attention()
  // cannot drop all weights.
  if (queries.size(-2) > 1 && drop < 1) {
    return attention(queries, keys, values, mask, score_scale(queries), drop);
  }
  return matmul(dropout(attention_weights(queries, keys, mask), drop), values);
}

Tensor split_heads(const Tensor& x, int64_t heads) {
  Shape shape = x.shape();  // (..., T, H D)
  if (x.rank() < 2 || heads < 1 || x.size(-1) % heads != 0) {
    fail("split_heads: x is ", shape, ", heads are ", heads, "; need (..., T, heads D)");
  }
  shape[x.rank() - 1] = heads;
  shape.append(x.size(-1) / heads);
  return x.view(shape).transpose(-3, -2);
}

Tensor merge_heads(const Tensor& x) {
  if (x.rank() < 3) fail("merge_heads: x is ", x.shape(), "; need (..., H, T, D)");
  Shape shape = leading(x.shape(), 3);
  shape.append(x.size(-2));
  shape.append(x.size(-3) * x.size(-1));
  return x.transpose(-3, -2).reshape(shape);
}

SingleHeadAttention::SingleHeadAttention(int64_t width, DType dtype)
    : tokeys(child("tokeys", Linear(width, width, Bias::no, dtype))),
      toqueries(child("toqueries", Linear(width, width, Bias::no, dtype))),
      tovalues(child("tovalues", Linear(width, width, Bias::no, dtype))) {}

Tensor SingleHeadAttention::operator()(const Tensor& x, const Mask& mask) const {
  return dot_product_attention(toqueries(x), tokeys(x), tovalues(x), mask);
}

Tensor SingleHeadAttention::attention_maps(const Tensor& x, const Mask& mask) const {
  return attention_weights(toqueries(x), tokeys(x), mask);
}

WideAttention::WideAttention(int64_t width, int64_t heads, DType dtype)
    : tokeys(child("tokeys", Linear(width, checked_heads(heads) * width, Bias::no, dtype))),
      toqueries(child("toqueries", Linear(width, heads * width, Bias::no, dtype))),
      tovalues(child("tovalues", Linear(width, heads * width, Bias::no, dtype))),
      unifyheads(child("unifyheads", Linear(heads * width, width, Bias::yes, dtype))),
      heads_(heads) {}

Tensor WideAttention::attention_maps(const Tensor& x, const Mask& mask) const {
  return attention_weights(split_heads(toqueries(x), heads_), split_heads(tokeys(x), heads_), mask);
}

Tensor WideAttention::attend(const Tensor& x, const Mask& mask) const {
  const Tensor queries = split_heads(toqueries(x), heads_), keys = split_heads(tokeys(x), heads_);  // (B, H, T, D)
  const Tensor values = split_heads(tovalues(x), heads_);
  return unifyheads(merge_heads(dot_product_attention(queries, keys, values, mask)));
}

Tensor WideAttention::operator()(const Tensor& x, const Mask& mask, Past* past) const {
  const int64_t width = unifyheads.weight.size(0);
  if (x.rank() != 3 || x.size(2) != width) fail("WideAttention: x is ", x.shape(), "; need (B, T, ", width, ")");
  if (past) {
    KeyValueCache::check_no_tape();  // first: what is refused must leave nothing behind
    if (past->seen.length() == 0) past->projections = merge_projections();
    return attend_merged(past->projections, x, mask, &past->seen);
  }
  // Merging costs 2 H D³ products and saves 2 B T H D²: worth it where B T > D.
  if (x.size(0) * x.size(1) > x.size(2)) return attend_merged(merge_projections(), x, mask, nullptr);
  return attend(x, mask);
}

WideAttention::MergedProjections WideAttention::merge_projections() const {
  const int64_t D = unifyheads.weight.size(0), H = heads_;
  const Tensor wq = toqueries.weight.view({H, D, D}), wk = tokeys.weight.view({H, D, D});
  const Tensor wv = tovalues.weight.view({H, D, D}), wu = unifyheads.weight.view({D, H, D}).transpose(0, 1);
  return {matmul(wk.transpose(1, 2), wq).view({H * D, D}), matmul(wu, wv).transpose(0, 1).reshape({D, H * D})};
}

Tensor WideAttention::attend_merged(const MergedProjections& projections, const Tensor& x, const Mask& mask,
                                    KeyValueCache* past) const {
  const Tensor queries = split_heads(spaced_linear(x, projections.to_queries), heads_);  // (B, H, T, D)
  const Tensor states = x.unsqueeze(1);                                                  // (B, 1, T, D)
  KeysAndValues seen{states, states};
  if (past) seen = past->append(seen);
  const Tensor attended = merge_heads(dot_product_attention(queries, seen.keys, seen.values, mask));
  return linear(attended, projections.unify, unifyheads.bias);
}

}  // namespace reel::nn
