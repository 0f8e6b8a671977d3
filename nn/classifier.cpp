#include "nn/classifier.h"

#include <algorithm>
#include <limits>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "nn/positions.h"

namespace reel::nn {
namespace {

/// 1 / how many places of each text are no padding, (B, 1).
Tensor one_over_visible(const Ids& padding, DType dtype) {
  const int64_t B = padding.size(0), T = padding.size(1);
  std::vector<double> shares;
  for (int64_t b = 0; b < B; ++b) {
    const auto visible = std::count(padding.data() + b * T, padding.data() + (b + 1) * T, 0);
    shares.push_back(1 / static_cast<double>(std::max<int64_t>(visible, 1)));
  }
  return tensor({B, 1}, shares, dtype);
}

ClassifierConfig pooled_by_mean(ClassifierConfig config) {
  config.pooling = Pooling::mean;
  return config;
}

Embedding start_of_positions(const ClassifierConfig& c) {
  if (!c.sinusoidal_start) return Embedding(c.length, c.embedding, c.block.dtype, c.embedding_deviation);
  return Embedding(sinusoidal_positions(c.length, c.embedding, c.block.dtype), Embedding::Frozen::no);
}

}  // namespace

Tensor pool(Pooling pooling, const Tensor& x, const Ids& padding) {
  if (x.rank() != 3 || padding.shape() != leading(x.shape(), 1)) {
    fail("pool: x is ", x.shape(), ", padding is ", padding.shape(), "; need (B, T, D) and (B, T)");
  }
  const Ids places = padding.view({x.size(0), x.size(1), 1});
  const bool no_places = x.size(1) == 0;  // where there is no maximum, and a sum is 0
  if (pooling == Pooling::mean || no_places) {
    return sum(masked_fill(x, places, 0), {1}) * one_over_visible(padding, x.dtype());
  }
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  const Tensor largest = max(masked_fill(x, places, lowest), 1).values;
  return masked_fill(largest, eq(largest, scalar(lowest, x.dtype())), 0);
}

Classifier::Classifier(const ClassifierConfig& c)
    : token_embedding(
          child("token_embedding", Embedding(c.vocabulary, c.embedding, c.block.dtype, c.embedding_deviation))),
      pos_embedding(child("pos_embedding", start_of_positions(c))),
      tblocks(children("tblocks", c.depth, [&] { return TransformerBlock(c.embedding, c.heads, c.block); })),
      final_norm(c.block.norm == Norm::pre
                     ? std::optional(child("final_norm", LayerNorm(c.embedding, 1e-5, c.block.dtype)))
                     : std::nullopt),
      toprobs(child("toprobs", Linear(c.embedding, c.classes, Bias::yes, c.block.dtype))),
      drop(child("drop", Dropout(c.block.dropout))),
      config_(c) {}

Ids Classifier::padding_of(const Ids& tokens) const {
  return config_.padding ? eq(tokens, *config_.padding) : Ids::zeros(tokens.shape());
}

Mask Classifier::mask(const Ids& tokens) const {
  return config_.padding ? Mask::padding(padding_of(tokens)) : Mask::none();
}

Tensor Classifier::embed(const Ids& tokens) const {
  if (tokens.rank() != 2) fail("Classifier: tokens are ", tokens.shape(), "; need (batch, time)");
  if (tokens.size(1) > config_.length) {
    fail("Classifier: a text of ", tokens.size(1), " tokens is longer than the model's ", config_.length);
  }
  return drop(token_embedding(tokens) + pos_embedding(Ids::arange(tokens.size(1))));
}

Tensor Classifier::logits(const Ids& tokens) const {
  Tensor x = embed(tokens);  // (B, T, D)
  const Mask hidden = mask(tokens);
  for (const TransformerBlock& block : tblocks) x = block(x, hidden);
  if (final_norm) x = (*final_norm)(x);
  return toprobs(pool(config_.pooling, x, padding_of(tokens)));  // (B, classes)
}

std::vector<Tensor> Classifier::attention_maps(const Ids& tokens) const {
  return nn::attention_maps(tblocks, embed(tokens), mask(tokens));
}

TextClassificationTransformer::TextClassificationTransformer(const ClassifierConfig& config)
    : Classifier(pooled_by_mean(config)) {}

}  // namespace reel::nn
