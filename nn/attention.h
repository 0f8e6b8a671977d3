#pragma once
// Attention, from the simplest up. Each output is a mean of values, weighted by how well their keys match a query:
//
//     softmax(Q Kᵀ / √D) V
//
// Vaswani et al.: "Attention is all you need" (2017); P. Bloem: "Transformers from scratch" (2019).
// B batch, T time, H heads, D width.

#include "nn/layers.h"
#include "nn/mask.h"

namespace reel::nn {

/// Self-attention in its barest form, without parameters: softmax(x xᵀ) x, for x (..., T, D).
Tensor basic_self_attention(const Tensor& x);

/// What is divided so that scores come out smaller by √D: they themselves, or queries and keys, by the fourth root of D
/// each, which keeps the numbers in between smaller too. Both come to the same.
enum class Scaling { scores, queries_and_keys };

/// Whom each query attends to: softmax(mask(Q Kᵀ / √D)) for queries (..., T, D), keys (..., S, D) -> (..., T, S).
Tensor attention_weights(const Tensor& queries, const Tensor& keys, const Mask& mask,
                         Scaling scaling = Scaling::scores);

/// The means of values (..., S, E) under these weights -> (..., T, E).
Tensor dot_product_attention(const Tensor& queries, const Tensor& keys, const Tensor& values, const Mask& mask,
                             Scaling scaling = Scaling::scores);

/// One head: queries, keys and values are linear maps of x (..., T, D), without bias; scores are divided by √D.
class SingleHeadAttention : public Module {
 public:
  explicit SingleHeadAttention(int64_t width, DType dtype = DType::f32);
  Tensor operator()(const Tensor& x, const Mask& mask) const;

  Linear tokeys, toqueries, tovalues;
};

/// Several heads, each as wide as the embedding: x (B, T, D) -> (B, T, D). The heads' outputs, next to each other, are
/// mapped back to the width D by unifyheads.
class WideAttention : public Module {
 public:
  WideAttention(int64_t width, int64_t heads, DType dtype = DType::f32);
  Tensor operator()(const Tensor& x, const Mask& mask) const;
  /// Where it looks: (B, H, T, T).
  Tensor maps(const Tensor& x, const Mask& mask) const;

  Linear tokeys, toqueries, tovalues;  // (H D, D), no bias
  Linear unifyheads;                   // (D, H D)

 private:
  /// (B, T, H D) -> (B, H, T, D)
  Tensor by_head(const Tensor& all) const;

  int64_t heads_;
};

}  // namespace reel::nn
