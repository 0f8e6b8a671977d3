#include "apps/translate/model.h"

#include "apps/training/layer_options.h"
#include "autograd/error.h"
#include "data/sequences.h"
#include "nn/recurrent_translator.h"
#include "nn/transformer.h"

namespace reel::apps {

std::unique_ptr<nn::Translator> make_translator(const TranslateConfig& c, const TokenizerPair& tokenizers) {
  const std::int64_t source_vocabulary = tokenizers.source.vocabulary_size();
  const std::int64_t target_vocabulary = tokenizers.target.vocabulary_size();
  if (c.model == "rnn") {
    return std::make_unique<nn::RecurrentTranslator>(
        nn::RecurrentTranslator::Config{.source_vocabulary = source_vocabulary,
                                        .target_vocabulary = target_vocabulary,
                                        .width = c.embedding,
                                        .dropout = c.dropout,
                                        .padding = data::pad_id});
  }
  if (c.model == "transformer") {
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
                                .norm = norm_of(c.norm),
                                .norm_embeddings = c.norm_embeddings,
                                .tie_projection = c.tie});
  }
  fail("make_translator: no branch makes the model ", c.model);
}

TrainedTranslator restore_translator(const Checkpoint& saved, const TranslateConfig& config) {
  return read_notes(saved, [&] {
    TrainedTranslator trained{.config = config};
    auto tokenizer = [&](const char* key) { return data::WordTokenizer(note(saved, key).get<std::string>()); };
    trained.tokenizers = TokenizerPair{tokenizer("source vocabulary"), tokenizer("target vocabulary")};
    trained.model = make_translator(config, *trained.tokenizers);
    trained.model->load_state_dict(saved.weights);
    return trained;
  });
}

}  // namespace reel::apps
