#include "apps/generate/model.h"

#include "apps/training/layer_options.h"
#include "autograd/error.h"
#include "nn/conv_model.h"
#include "nn/gtransformer.h"
#include "nn/markov_model.h"
#include "nn/naive_transformer.h"

namespace reel::apps {

namespace {

nn::MarkovModel::Config markov_config(const GenerateConfig& c, std::int64_t vocabulary) {
  return {.vocabulary = vocabulary, .context = c.context, .order = c.order};
}

}  // namespace

std::unique_ptr<nn::LanguageModel> make_model(const GenerateConfig& c, std::int64_t vocabulary,
                                              std::span<const std::int32_t> tokens) {
  if (c.model == "naive") {
    return std::make_unique<nn::NaiveTransformer>(nn::NaiveTransformer::Config{.vocabulary = vocabulary,
                                                                               .context = c.context,
                                                                               .embedding = c.embedding,
                                                                               .depth = c.depth,
                                                                               .dropout = c.dropout});
  }
  if (c.model == "conv") {
    return std::make_unique<nn::ConvModel>(nn::ConvModel::Config{.vocabulary = vocabulary,
                                                                 .context = c.context,
                                                                 .embedding = c.embedding,
                                                                 .depth = c.depth,
                                                                 .dropout = c.dropout});
  }
  if (c.model == "ngram") return std::make_unique<nn::MarkovModel>(tokens, markov_config(c, vocabulary));
  if (c.model == "gtransformer") {
    return std::make_unique<nn::GTransformer>(nn::GTransformer::Config{.vocabulary = vocabulary,
                                                                       .context = c.context,
                                                                       .embedding = c.embedding,
                                                                       .heads = c.heads,
                                                                       .depth = c.depth,
                                                                       .dropout = c.dropout,
                                                                       .norm = norm_of(c.norm),
                                                                       .activation = activation_of(c.activation)});
  }
  fail("make_model: no branch makes the model ", c.model);
}

TrainedModel restore_model(const Checkpoint& saved, const GenerateConfig& config) {
  return read_notes(saved, [&] {
    TrainedModel trained{.config = config};
    trained.tokenizer = data::restore_tokenizer(config.tokenizer, note(saved, "vocabulary").get<std::string>());
    const std::int64_t vocabulary = trained.tokenizer->vocabulary_size();
    if (config.counts()) {
      trained.model = std::make_unique<nn::MarkovModel>(
          nn::MarkovModel::from_state(saved.weights, markov_config(config, vocabulary)));
    } else {
      trained.model = make_model(config, vocabulary, {});
      trained.model->load_state_dict(saved.weights);
    }
    return trained;
  });
}

}  // namespace reel::apps
