#include "nn/gtransformer.h"

namespace reel::nn {

GTransformer::GTransformer(const Config& c)
    : token_embedding(child("token_embedding", Embedding(c.vocabulary, c.embedding, c.dtype))),
      pos_embedding(child("pos_embedding", Embedding(c.context, c.embedding, c.dtype))),
      unify_embeddings(child("unify_embeddings", Linear(2 * c.embedding, c.embedding, Bias::yes, c.dtype))),
      tblocks(children("tblocks", c.depth,
                       [&] {
                         return TransformerBlock(
                             c.embedding, c.heads,
                             {.dropout = c.dropout, .norm = c.norm, .activation = c.activation, .dtype = c.dtype});
                       })),
      toprobs(child("toprobs", Linear(c.embedding, c.vocabulary, Bias::yes, c.dtype))) {}

Tensor GTransformer::embed(const Ids& tokens) const {
  check_tokens("GTransformer", tokens);
  const Tensor token = token_embedding(tokens);                                              // (B, T, D)
  const Tensor position = pos_embedding(Ids::arange(tokens.size(1))).expand(token.shape());  // (B, T, D)
  return unify_embeddings(cat({token, position}, -1));
}

Tensor GTransformer::operator()(const Ids& tokens) const {
  Tensor x = embed(tokens);
  for (const TransformerBlock& block : tblocks) x = block(x, Mask::causal());
  return log_softmax(toprobs(x), -1);  // (B, T, V)
}

std::vector<Tensor> GTransformer::attention_maps(const Ids& tokens) const {
  return nn::attention_maps(tblocks, embed(tokens), Mask::causal());
}

}  // namespace reel::nn
