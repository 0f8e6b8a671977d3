#include "apps/generate/config.h"

#include "nn/markov_model.h"

namespace reel::apps {

void declare_train(Options& o, GenerateConfig& c) {
  const std::vector<std::string> learning{"gtransformer", "naive", "conv"};  // by gradients; ngram counts
  o.section("Data", Fixed::yes);
  o.add(&c.data, "data", 'D', "FILE", "text to learn from, UTF-8; without it, Reel's own source");
  o.add_choice(&c.tokenizer, "tokenizer", Options::no_letter, {"char", "byte"},
               "what a token is; byte reads what is not UTF-8, too");
  o.add(&c.split, "split", Options::no_letter, "SHARE", "share of the text that trains; what follows validates",
        more_than(0).and_less_than(1));
  o.add_flag(&c.final_run, "final", 'f', "cut what validates in two, and test on the second half once, at the end");

  o.section("Model", Fixed::yes);
  o.add_choice(&c.model, "model", Options::no_letter, {"gtransformer", "naive", "conv", "ngram"},
               "which model; all learn by gradients but ngram, which counts");
  o.add(&c.context, "context", 'C', "N", "tokens that a prediction may look back on", at_least(1).and_at_most(1 << 20));
  o.add(&c.embedding, "embedding", 'E', "N", "width of the embeddings", at_least(1).and_at_most(1 << 16))
      .only_for("model", learning);
  o.add(&c.heads, "heads", 'H', "N", "attention heads, each as wide as the embedding", at_least(1).and_at_most(1 << 10))
      .only_for("model", {"gtransformer"});
  o.add(&c.depth, "depth", 'd', "N", "blocks on top of each other", at_least(1).and_at_most(1 << 10))
      .only_for("model", learning);
  o.add(&c.order, "order", Options::no_letter, "N", "tokens that are counted together with the next",
        at_least(0).and_at_most(nn::MarkovModel::max_order))
      .only_for("model", {"ngram"});
  o.add(&c.dropout, "dropout", Options::no_letter, "P", "probability of dropping an activation in training",
        at_least(0).and_less_than(1))
      .only_for("model", learning);

  o.section("Training", Options::Condition{"model", learning});
  o.add(&c.num_batches, "num-batches", 'N', "N", "steps; Ctrl-C ends earlier and saves", at_least(1));
  declare_batches(o, c.training, Fixed::no);
  declare_training(o, c.training);

  o.section("Run");
  declare_run(o, c.training);
  o.add(&c.test_every, "test-every", Options::no_letter, "N", "steps between validation, sample and checkpoint",
        at_least(1))
      .only_for("model", learning);
  o.add(&c.sample_length, "sample-length", Options::no_letter, "N", "tokens of a sample", at_least(0));
}

}  // namespace reel::apps
