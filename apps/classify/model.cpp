#include "apps/classify/model.h"

#include "apps/training/layer_options.h"
#include "autograd/error.h"
#include "data/sequences.h"
#include "nn/transformer_classifier.h"

namespace reel::apps {

std::unique_ptr<nn::Classifier> make_classifier(const ClassifyConfig& c, std::int64_t vocabulary,
                                                std::int64_t classes) {
  nn::TransformerClassifier::Config config{
      .vocabulary = vocabulary,
      .classes = classes,
      .length = c.length,
      .embedding = c.embedding,
      .embedding_deviation = c.embedding_deviation,
      .sinusoidal_start = c.positions == "sinusoidal",
      .heads = c.heads,
      .depth = c.depth,
      .pooling = c.max_pool ? nn::Pooling::max : nn::Pooling::mean,
      .block = {.hidden = c.hidden,
                .dropout = c.dropout,
                .norm = norm_of(c.norm),
                .activation = activation_of(c.activation)},
  };
  if (c.mask_padding) config.padding = data::pad_id;
  if (c.model == "textclassification") return std::make_unique<nn::TextClassificationTransformer>(config);
  if (c.model == "ctransformer") return std::make_unique<nn::CTransformer>(config);
  fail("make_classifier: no branch makes the model ", c.model);
}

TrainedClassifier restore_classifier(const Checkpoint& saved, const ClassifyConfig& config) {
  return read_notes(saved, [&] {
    TrainedClassifier trained{.config = config};
    trained.tokenizer.emplace(note(saved, "vocabulary").get<std::string>());
    for (const Json& name : note(saved, "classes").get<Json::Array>()) {
      trained.classes.push_back(name.get<std::string>());
    }
    trained.model = make_classifier(config, trained.tokenizer->vocabulary_size(), std::ssize(trained.classes));
    trained.model->load_state_dict(saved.weights);
    return trained;
  });
}

}  // namespace reel::apps
