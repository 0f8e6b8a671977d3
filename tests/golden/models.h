#pragma once
// The models of models.py and translators.py: small ones, each under the name of its case.

#include "nn/conv_model.h"
#include "nn/gtransformer.h"
#include "nn/naive_transformer.h"
#include "nn/recurrent_translator.h"
#include "nn/transformer.h"
#include "nn/transformer_classifier.h"

namespace reel::golden {

constexpr int64_t vocabulary = 11, target_vocabulary = 9, context = 6, width = 8, heads = 2, hidden_width = 12,
                  classes = 4, depth = 2;
constexpr std::int32_t pad = 0;

/// "naive_transformer"
inline nn::NaiveTransformer::Config naive_transformer(DType dtype) {
  return {.vocabulary = vocabulary, .context = context, .embedding = width, .depth = depth, .dtype = dtype};
}

/// "gtransformer"
inline nn::GTransformer::Config gtransformer(DType dtype) {
  return {
      .vocabulary = vocabulary, .context = context, .embedding = width, .heads = heads, .depth = depth, .dtype = dtype};
}

/// "conv_model"
inline nn::ConvModel::Config conv_model(DType dtype) {
  return {
      .vocabulary = vocabulary, .context = context, .embedding = width, .kernel = 3, .depth = depth, .dtype = dtype};
}

/// "ctransformer.max", and "text_classification_transformer"
inline nn::TransformerClassifier::Config classifier(DType dtype) {
  return {.vocabulary = vocabulary,
          .classes = classes,
          .length = context,
          .embedding = width,
          .heads = heads,
          .depth = depth,
          .block = {.hidden = hidden_width, .dtype = dtype}};
}

/// "ctransformer.mean.padded"
inline nn::TransformerClassifier::Config padded_mean_classifier(DType dtype) {
  nn::TransformerClassifier::Config config = classifier(dtype);
  config.pooling = nn::Pooling::mean;
  config.padding = pad;
  return config;
}

/// "ctransformer.max.padded": with pre-norm and GELU
inline nn::TransformerClassifier::Config padded_max_classifier(DType dtype) {
  nn::TransformerClassifier::Config config = classifier(dtype);
  config.padding = pad;
  config.block.norm = nn::Norm::pre;
  config.block.activation = nn::Activation::gelu;
  return config;
}

/// "transformer.post"
inline nn::Transformer::Config post_norm_transformer(DType dtype) {
  return {.source_vocabulary = vocabulary,
          .target_vocabulary = target_vocabulary,
          .length = context,
          .width = width,
          .heads = heads,
          .hidden = hidden_width,
          .depth = depth,
          .dropout = 0,
          .padding = pad,
          .dtype = dtype};
}

/// "transformer.pre": with learned positions and a tied projection
inline nn::Transformer::Config pre_norm_transformer(DType dtype) {
  nn::Transformer::Config config = post_norm_transformer(dtype);
  config.depth = 1;
  config.positions = nn::Transformer::Positions::learned;
  config.norm = nn::Norm::pre;
  config.scale_embeddings = false;
  config.tie_projection = true;
  return config;
}

/// "recurrent_translator"
inline nn::RecurrentTranslator::Config recurrent_translator(DType dtype) {
  return {.source_vocabulary = vocabulary,
          .target_vocabulary = target_vocabulary,
          .width = width,
          .dropout = 0,
          .padding = pad,
          .dtype = dtype};
}

}  // namespace reel::golden
