#include "nn/transformer_classifier.h"

#include "nn/check_tokens.h"
#include "nn/positions.h"

namespace reel::nn {
namespace {

TransformerClassifier::Config pooled_by_mean(TransformerClassifier::Config config) {
  config.pooling = Pooling::mean;
  return config;
}

Embedding start_of_positions(const TransformerClassifier::Config& c) {
  if (!c.sinusoidal_start) return Embedding(c.length, c.embedding, c.embedding_deviation, c.block.dtype);
  return Embedding(sinusoidal_positions(c.length, c.embedding, c.block.dtype), Embedding::Frozen::no);
}

}  // namespace

TransformerClassifier::TransformerClassifier(const Config& c)
    : token_embedding(
          child("token_embedding", Embedding(c.vocabulary, c.embedding, c.embedding_deviation, c.block.dtype))),
      pos_embedding(child("pos_embedding", start_of_positions(c))),
      tblocks(children("tblocks", c.depth, [&] { return TransformerBlock(c.embedding, c.heads, c.block); })),
      final_norm(child("final_norm", FinalNorm(c.block.norm, c.embedding, c.block.dtype))),
      toprobs(child("toprobs", Linear(c.embedding, c.classes, Bias::yes, c.block.dtype))),
      drop(child("drop", Dropout(c.block.dropout))),
      config_(c) {}

Ids TransformerClassifier::padding_of(const Ids& tokens) const {
  return config_.padding ? eq(tokens, *config_.padding) : Ids::zeros(tokens.shape());
}

Mask TransformerClassifier::mask(const Ids& tokens) const {
  return config_.padding ? Mask::padding(padding_of(tokens)) : Mask::none();
}

Tensor TransformerClassifier::embed(const Ids& tokens) const {
  check_tokens("TransformerClassifier", tokens, config_.length);
  return drop(token_embedding(tokens) + pos_embedding(Ids::arange(tokens.size(1))));
}

Tensor TransformerClassifier::logits(const Ids& tokens) const {
  Tensor x = embed(tokens);  // (B, T, D)
  const Mask hidden = mask(tokens);
  for (const TransformerBlock& block : tblocks) x = block(x, hidden);
  return toprobs(pool(config_.pooling, final_norm(x), padding_of(tokens)));  // (B, classes)
}

std::vector<Tensor> TransformerClassifier::attention_maps(const Ids& tokens) const {
  return nn::attention_maps(tblocks, embed(tokens), mask(tokens));
}

TextClassificationTransformer::TextClassificationTransformer(const Config& config)
    : TransformerClassifier(pooled_by_mean(config)) {}

}  // namespace reel::nn
