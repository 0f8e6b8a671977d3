#include "apps/generate/config.h"

#include "apps/training/layer_options.h"
#include "nn/markov_model.h"

namespace reel::apps {

const StringPairs& source_defaults() {
  static const StringPairs defaults{{"num-batches", "1000"}, {"batch-size", "12"},  {"context", "64"},
                                    {"heads", "4"},          {"depth", "2"},        {"learn-rate", "2e-3"},
                                    {"lr-warmup", "120"},    {"schedule", "cosine"}};
  return defaults;
}

void declare_train(Options& o, GenerateConfig& c) {
  const std::vector<std::string> learning{"gtransformer", "naive", "conv"};  // by gradients; ngram counts
  o.section("Data", Fixed::in_run);
  o.add(&c.data, "D,data", "FILE",
        "text to learn from, UTF-8; without it, Reel's own source and, but for ngram, these defaults: " +
            Options::as_arguments(source_defaults()))
      .fixed(Fixed::no);  // files may move
  o.add(&c.split, "split", "SHARE", "share of the text that trains; what follows validates",
        more_than(0).and_less_than(1));
  o.add_flag(&c.final_run, "f,final", "cut what validates in two, and test on the second half once, at the end");

  o.section("Model", Fixed::with_weights);
  o.add_choice(&c.tokenizer, "tokenizer", {"char", "byte"}, "what a token is; byte reads what is not UTF-8, too");
  o.add_choice(&c.model, "model", {"gtransformer", "naive", "conv", "ngram"},
               "which model; all learn by gradients but ngram, which counts");
  o.add(&c.context, "C,context", "N",
        "tokens that a prediction may look back on; conv and ngram see fewer where --depth or --order is small",
        at_least(1).and_at_most(1 << 20));
  o.add(&c.embedding, "E,embedding", "N", "width of the embeddings", at_least(1).and_at_most(1 << 16))
      .only_for("model", learning);
  o.add(&c.heads, "H,heads", "N", "attention heads, each as wide as the embedding", at_least(1).and_at_most(1 << 10))
      .only_for("model", {"gtransformer"});
  o.add(&c.depth, "d,depth", "N", "blocks on top of each other", at_least(1).and_at_most(1 << 10))
      .only_for("model", learning);
  add_norm(o, c.norm).only_for("model", {"gtransformer"});
  add_activation(o, c.activation).only_for("model", {"gtransformer"});
  o.add(&c.order, "order", "N", "tokens that are counted together with the next",
        at_least(0).and_at_most(nn::MarkovModel::max_order))
      .only_for("model", {"ngram"});
  o.add(&c.dropout, "dropout", "P", "probability of dropping an activation in training", at_least(0).and_less_than(1))
      .only_for("model", learning)
      .fixed(Fixed::in_run);

  o.section("Training", Options::Condition{"model", learning});
  o.add(&c.steps, "N,num-batches", "N", "steps; Ctrl-C ends earlier and saves", at_least(1));
  declare_batches(o, c.training);
  declare_training(o, c.training);

  o.section("Run");
  declare_run(o, c.training);
  o.add(&c.test_every, "test-every", "N", "steps between validation, sample and checkpoint", at_least(1))
      .only_for("model", learning);
  o.add(&c.validation_tokens, "validation-tokens", "N",
        "how many of the tokens to validate are predicted each time, the first ones; 0 for all", at_least(0))
      .only_for("model", learning)
      .fixed(Fixed::in_run);
  o.add(&c.sample_length, "sample-length", "N", "tokens of a sample", at_least(0));
}

}  // namespace reel::apps
