#pragma once
// Attention, from the simplest up. Each output is a mean of values, weighted by how well their keys match a query:
//
//     softmax(Q Kᵀ / √D) V
//
// Vaswani et al.: "Attention is all you need" (2017); P. Bloem: "Transformers from scratch" (2019).
// B batch, T time, H heads, D width.

#include "autograd/mask.h"
#include "nn/key_value_cache.h"
#include "nn/layers.h"

namespace reel::nn {

/// Self-attention in its barest form, without parameters: softmax(x xᵀ) x, for x (..., T, D).
Tensor basic_self_attention(const Tensor& x);

/// 1/√D for queries (..., D).
double score_scale(const Tensor& queries);

/// Whom each query attends to: softmax(mask(Q Kᵀ / √D)) for queries (..., T, D), keys (..., S, D) -> (..., T, S).
Tensor attention_weights(const Tensor& queries, const Tensor& keys, const Mask& mask);

/// The means of values (..., S, E) under these weights -> (..., T, E); each weight is dropped with probability `drop`.
/// The leading axes of keys and values are those of queries, or 1.
Tensor dot_product_attention(const Tensor& queries, const Tensor& keys, const Tensor& values, const Mask& mask,
                             double drop = 0);

/// Heads side by side (..., T, H D) -> (..., H, T, D), as a view. Throws if the width is no multiple of the heads.
Tensor split_heads(const Tensor& x, int64_t heads);
/// And back: (..., H, T, D) -> (..., T, H D)
Tensor merge_heads(const Tensor& x);

/// One head: queries, keys and values are linear maps of x (..., T, D), without bias; scores are divided by √D.
class SingleHeadAttention : public Module {
 public:
  explicit SingleHeadAttention(int64_t width, DType dtype = DType::f32);
  Tensor operator()(const Tensor& x, const Mask& mask) const;
  /// Where it looks: (..., T, T).
  Tensor attention_maps(const Tensor& x, const Mask& mask) const;

  Linear tokeys, toqueries, tovalues;
};

/// Several heads, each as wide as the embedding: x (B, T, D) -> (B, T, D). The heads' outputs, next to each other, are
/// mapped back to the width D by unifyheads.
class WideAttention : public Module {
 public:
  WideAttention(int64_t width, int64_t heads, DType dtype = DType::f32);
  /// Two projections in a row are one. Each head is as wide as the embedding, and
  ///     (Wq x)ᵀ (Wk x) = ((Wkᵀ Wq) x)ᵀ x,          Wu ((Wv x) p) = (Wu Wv) (x p),
  /// so that x itself is the keys and the values of all heads.
  struct MergedProjections {
    Tensor to_queries, unify;  // (H D, D), (D, H D)
  };
  /// What is kept of texts that grow, while the weights stay what they are: the projections from the first token on.
  struct Past {
    KeyValueCache seen;
    MergedProjections projections;
  };
  /// With `past`, x goes on from the tokens that it holds, attends to them as well, and is added to them; throws then
  /// if a tape records.
  Tensor operator()(const Tensor& x, const Mask& mask, Past* past = nullptr) const;
  /// Where it looks: (B, H, T, T).
  Tensor attention_maps(const Tensor& x, const Mask& mask) const;

  Linear tokeys, toqueries, tovalues;  // (H D, D), no bias
  Linear unifyheads;                   // (D, H D)

 private:
  /// operator() as it is published.
  Tensor attend(const Tensor& x, const Mask& mask) const;
  MergedProjections merge_projections() const;
  /// The same with 2 projections of x, not 4.
  Tensor attend_merged(const MergedProjections& projections, const Tensor& x, const Mask& mask,
                       KeyValueCache* past) const;

  int64_t heads_;
};

}  // namespace reel::nn
