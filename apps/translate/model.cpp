#include "apps/translate/model.h"

#include "autograd/error.h"
#include "data/sequences.h"
#include "nn/recurrent_translator.h"
#include "nn/transformer.h"

namespace reel::apps {

std::unique_ptr<nn::Translator> make_translator(const TranslateConfig& c, std::int64_t source_vocabulary,
                                                std::int64_t target_vocabulary) {
  if (c.model == "rnn") {
    return std::make_unique<nn::RecurrentTranslator>(
        nn::RecurrentTranslator::Config{.source_vocabulary = source_vocabulary,
                                        .target_vocabulary = target_vocabulary,
                                        .width = c.embedding,
                                        .dropout = c.dropout,
                                        .padding = data::pad_id});
  }
  return std::make_unique<nn::Transformer>(
      nn::Transformer::Config{.source_vocabulary = source_vocabulary,
                              .target_vocabulary = target_vocabulary,
                              .length = c.length + 2,  // <start> and <end>
                              .width = c.embedding,
                              .heads = c.heads,
                              .hidden = c.hidden,
                              .depth = c.depth,
                              .dropout = c.dropout,
                              .padding = data::pad_id,
                              .positions = c.positions == "learned" ? nn::Transformer::Positions::learned
                                                                    : nn::Transformer::Positions::sinusoidal,
                              .norm = c.norm == "pre" ? nn::Norm::pre : nn::Norm::post,
                              .norm_embeddings = c.norm_embeddings,
                              .tie_projection = c.tie});
}

TrainedTranslator restore_translator(const Checkpoint& checkpoint, const std::filesystem::path& path) {
  try {
    TrainedTranslator trained;
    Options options;
    declare_train(options, trained.config);
    options.restore(string_pairs_from(note(checkpoint, "options")));
    trained.source.emplace(note(checkpoint, "source vocabulary").get<std::string>());
    trained.target.emplace(note(checkpoint, "target vocabulary").get<std::string>());
    trained.model =
        make_translator(trained.config, trained.source->vocabulary_size(), trained.target->vocabulary_size());
    trained.model->load_state_dict(checkpoint.weights);
    return trained;
  } catch (const Error& error) {
    fail(path.string(), " does not fit: ", error.what());
  }
}

}  // namespace reel::apps
