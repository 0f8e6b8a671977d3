#include "apps/generate/model.h"

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
  return std::make_unique<nn::GTransformer>(nn::GTransformer::Config{.vocabulary = vocabulary,
                                                                     .context = c.context,
                                                                     .embedding = c.embedding,
                                                                     .heads = c.heads,
                                                                     .depth = c.depth,
                                                                     .dropout = c.dropout});
}

TrainedModel restore_model(const Checkpoint& checkpoint, const std::filesystem::path& path) {
  try {
    TrainedModel trained;
    Options options;
    declare_train(options, trained.config);
    options.restore(string_pairs_from(note(checkpoint, "options")));
    trained.tokenizer =
        data::restore_tokenizer(trained.config.tokenizer, note(checkpoint, "vocabulary").get<std::string>());
    const std::int64_t vocabulary = trained.tokenizer->vocabulary_size();
    if (trained.config.counts()) {
      trained.model = std::make_unique<nn::MarkovModel>(
          nn::MarkovModel::from_state(checkpoint.weights, markov_config(trained.config, vocabulary)));
    } else {
      trained.model = make_model(trained.config, vocabulary, {});
      trained.model->load_state_dict(checkpoint.weights);
    }
    return trained;
  } catch (const Error& error) {
    fail(path.string(), " does not fit: ", error.what());
  }
}

TrainedModel load_model(const std::filesystem::path& folder) {
  const std::filesystem::path path = checkpoint_path(folder);
  return restore_model(load_checkpoint(path, "generate"), path);
}

}  // namespace reel::apps
