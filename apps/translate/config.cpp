#include "apps/translate/config.h"

#include "apps/training/layer_options.h"

namespace reel::apps {

const StringPairs& sentence_defaults() {
  static const StringPairs defaults{{"source", "en"},       {"target", "de"},      {"embedding", "64"},
                                    {"heads", "4"},         {"depth", "2"},        {"hidden", "256"},
                                    {"dropout", "0"},       {"num-epochs", "8"},   {"batch-size", "64"},
                                    {"learn-rate", "2e-3"}, {"lr-warmup", "6400"}, {"schedule", "cosine"}};
  return defaults;
}

void declare_train(Options& o, TranslateConfig& c) {
  const std::vector<std::string> transformer{"transformer"};  // what the options of its inner parts are for
  o.section("Data", Fixed::in_run);
  o.add(&c.data, "D,data", "DIR",
        "folder of parallel files train.SOURCE, train.TARGET, val.* and test*.*; without it, small sentences from a "
        "grammar, English to German, and these defaults: " +
            Options::as_arguments(sentence_defaults()))
      .fixed(Fixed::no);  // files may move
  o.add(&c.source, "source", "ENDING", "of the files to translate from").fixed(Fixed::with_weights);
  o.add(&c.target, "target", "ENDING", "of the files to translate to").fixed(Fixed::with_weights);

  o.section("Model", Fixed::with_weights);
  o.add(&c.vocabulary, "V,vocab-size", "N",
        "largest size of each language's vocabulary: four tokens of its own, and the most frequent words",
        at_least(5).and_at_most(1 << 24));
  o.add(&c.minimum_count, "min-count", "N", "least number of times that a word must occur to be known", at_least(1));
  o.add_flag(&c.cased, "cased", "capitals count: The and the are two words; otherwise all are read in lower case");
  o.add(&c.length, "M,max", "N", "largest number of words of a sentence that are read",
        at_least(1).and_at_most(1 << 16));
  o.add_choice(&c.model, "model", {"transformer", "rnn"},
               "encoder and decoder of attention, or of one recurrent layer (GRU) each");
  o.add(&c.embedding, "E,embedding", "N", "width of the model", at_least(1).and_at_most(1 << 16));
  o.add(&c.heads, "H,heads", "N", "attention heads, which divide the width between them",
        at_least(1).and_at_most(1 << 10))
      .only_for("model", transformer);
  o.add(&c.depth, "d,depth", "N", "layers of the encoder, and of the decoder", at_least(1).and_at_most(1 << 10))
      .only_for("model", transformer);
  o.add(&c.hidden, "hidden", "N", "width of the feed-forward networks", at_least(1).and_at_most(1 << 18))
      .only_for("model", transformer);
  o.add(&c.dropout, "dropout", "P", "probability of dropping an activation in training", at_least(0).and_less_than(1))
      .fixed(Fixed::in_run);
  o.add_choice(&c.positions, "positions", {"sinusoidal", "learned"}, "what says where a word stands")
      .only_for("model", transformer);
  add_norm(o, c.norm).only_for("model", transformer);
  o.add_flag(&c.norm_embeddings, "embedding-norm", "a layer norm before the first layer, too")
      .only_for("model", transformer)
      .only_for("norm", {"post"});
  o.add_flag(&c.tie, "tie", "the projection shares its weights with the target's embedding")
      .only_for("model", transformer);

  o.section("Training");
  o.add(&c.epochs, "e,num-epochs", "N", "times to go through the sentences; Ctrl-C ends earlier and saves",
        at_least(1).and_at_most(1 << 20));
  o.add(
      &c.label_smoothing, "label-smoothing", "SHARE",
      "share of the target that is spread over all words; the training loss has it in it, that of validation does not",
      at_least(0).and_less_than(1));
  o.add_choice(&c.batches, "batches", {"random", "bucketed"},
               "pairs of any length together, which learns better, or of about the same length, which takes less time")
      .fixed(Fixed::in_run);
  declare_batches(o, c.training);
  declare_training(o, c.training);

  o.section("Run");
  o.add_flag(&c.final_run, "f,final", "score the test parts once, at the end");
  declare_run(o, c.training);
}

}  // namespace reel::apps
