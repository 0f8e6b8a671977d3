#pragma once
// What Reel's speed is measured by: models of the sizes that people train, and random batches for them. workloads.py
// has the same in PyTorch.
//
// To add one: a line in workloads(), one in workloads.py, and its name in WORKLOADS of compare.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "autograd/ids.h"
#include "autograd/ops.h"
#include "nn/gtransformer.h"
#include "nn/naive_transformer.h"
#include "nn/packing.h"
#include "nn/transformer.h"
#include "nn/transformer_classifier.h"

namespace reel::bench {

/// A model, what it learns from, and how.
struct Workload {
  nn::Module model;
  std::vector<Ids> batch;
  std::function<Tensor(int64_t part)> loss;  // of one part of the batch; a step adds up the gradients of all
  double gflop;                              // of a step, in matrix products
  int64_t parts = 1;
};

/// Billions of operations in the matrix products of models. Each product has two more in its gradient. What a mask
/// hides, and padding, is counted in full.
namespace gflop {

inline double product(int64_t m, int64_t k, int64_t n) { return 3 * 2e-9 * static_cast<double>(m * k * n); }

/// A TransformerBlock, with heads as wide as the embedding, over B texts of length T.
inline double wide_block(int64_t B, int64_t T, int64_t D, int64_t H) {
  return 4 * product(B * T, D, H * D) + 2 * product(B * T * H, D, T) + 2 * product(B * T, D, 4 * D);
}

/// A MultiHeadAttention of T queries to S keys.
inline double split_attention(int64_t B, int64_t T, int64_t S, int64_t D) {
  return 2 * product(B * T, D, D) + 2 * product(B * S, D, D) + 2 * product(B * T, D, S);
}

}  // namespace gflop

/// Ids from `first` to `vocabulary` - 1.
inline Ids random_ids(const Shape& shape, int64_t vocabulary, int64_t first = 0) {
  Ids ids = Ids::zeros(shape);
  for (std::int32_t& id : ids.values()) {
    id = static_cast<std::int32_t>(first + default_generator().below(vocabulary - first));
  }
  return ids;
}

/// Both classifiers: the logits of the one are what the other makes log-probabilities of.
template <class Model>
Workload classify(const nn::TransformerClassifier::Config& c, int64_t B) {
  const Model model(c);
  const Ids tokens = random_ids({B, c.length}, c.vocabulary), labels = random_ids({B}, c.classes);
  const double block = gflop::wide_block(B, c.length, c.embedding, c.heads);
  return {model,
          {tokens, labels},
          [=](int64_t) { return nll_loss(model.log_probs(tokens), labels); },
          static_cast<double>(c.depth) * block + gflop::product(B, c.embedding, c.classes)};
}

inline Workload generate(const nn::GTransformer::Config& c, int64_t B) {
  const nn::GTransformer model(c);
  const Ids tokens = random_ids({B, c.context}, c.vocabulary), next = random_ids({B, c.context}, c.vocabulary);
  const double block = gflop::wide_block(B, c.context, c.embedding, c.heads);
  const double ends = gflop::product(B * c.context, c.embedding, 2 * c.embedding + c.vocabulary);
  return {model,
          {tokens, next},
          [=](int64_t) { return nll_loss(model(tokens), next); },
          static_cast<double>(c.depth) * block + ends};
}

/// One text at a time, and a step for all of them together.
inline Workload naive(const nn::NaiveTransformer::Config& c, int64_t B) {
  const nn::NaiveTransformer model(c);
  std::vector<Ids> batch;
  for (int64_t b = 0; b < 2 * B; ++b) batch.push_back(random_ids({1, c.context}, c.vocabulary));
  const int64_t T = c.context, D = c.embedding;
  const double block = 3 * gflop::product(T, D, D) + 2 * gflop::product(T, D, T);
  auto loss = [=](int64_t part) {
    const auto text = static_cast<std::size_t>(2 * part);
    return nll_loss(model(batch[text]), batch[text + 1]);
  };
  return {model, batch, loss,
          static_cast<double>(B) * (static_cast<double>(c.depth) * block + gflop::product(T, D, c.vocabulary)), B};
}

/// Sources and targets of half the length and more, padded, as in a batch of texts of similar length.
inline Workload translate(const nn::Transformer::Config& c, int64_t B) {
  const nn::Transformer model(c);
  const int64_t T = c.length, D = c.width;
  Ids source = random_ids({B, T}, c.source_vocabulary, 1), target = random_ids({B, T}, c.target_vocabulary, 1),
      next = random_ids({B, T}, c.target_vocabulary, 1);
  auto pad_from = [&](int64_t b, int64_t length, Ids& ids) {
    std::fill(ids.data() + b * T + length, ids.data() + (b + 1) * T, c.padding);
  };
  for (int64_t b = 0; b < B; ++b) {
    pad_from(b, T / 2 + default_generator().below(T / 2 + 1), source);
    const int64_t length = T / 2 + default_generator().below(T / 2 + 1);
    pad_from(b, length, target);
    pad_from(b, length, next);
  }
  const Ids words = nn::Packing(target, c.padding).pack(next);  // what the model is asked for
  const double feed_forward = 2 * gflop::product(B * T, D, c.hidden), attention = gflop::split_attention(B, T, T, D);
  return {model,
          {source, target, next},
          [=](int64_t) { return cross_entropy(model.packed(source, target), words); },
          static_cast<double>(c.depth) * (3 * attention + 2 * feed_forward) +
              gflop::product(B * T, D, c.target_vocabulary)};
}

/// By name. Nothing is dropped out: both sides can be held to the same loss.
inline const std::map<std::string, std::function<Workload()>>& workloads() {
  static const std::map<std::string, std::function<Workload()>> all{
      {"classify",
       [] {
         return classify<nn::CTransformer>(
             {.vocabulary = 50000, .length = 512, .embedding = 128, .heads = 8, .depth = 6}, 4);
       }},
      {"classify-mean",
       [] {
         return classify<nn::TextClassificationTransformer>(
             {.vocabulary = 30000, .length = 100, .embedding = 100, .heads = 8, .depth = 4}, 32);
       }},
      {"generate",
       [] { return generate({.vocabulary = 65, .context = 128, .embedding = 128, .heads = 8, .depth = 6}, 16); }},
      {"long",  // for memory: it must not grow with the square of the length
       [] {
         return classify<nn::CTransformer>(
             {.vocabulary = 1000, .length = 4096, .embedding = 128, .heads = 8, .depth = 2}, 1);
       }},
      {"naive", [] { return naive({.vocabulary = 65, .context = 256, .embedding = 256, .depth = 6}, 16); }},
      {"small",  // what `generate train` of the README trains
       [] { return generate({.vocabulary = 65, .context = 64, .embedding = 128, .heads = 4, .depth = 4}, 12); }},
      {"translate",
       [] {
         return translate({.source_vocabulary = 7800,
                           .target_vocabulary = 5900,
                           .length = 24,
                           .width = 256,
                           .heads = 8,
                           .hidden = 512,
                           .depth = 3,
                           .dropout = 0},
                          64);
       }},
  };
  return all;
}

}  // namespace reel::bench
