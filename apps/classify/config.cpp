#include "apps/classify/config.h"

#include "apps/training/layer_options.h"

namespace reel::apps {

const StringPairs& review_defaults() {
  static const StringPairs defaults{{"embedding", "64"},   {"heads", "2"},        {"depth", "2"},
                                    {"num-epochs", "15"},  {"batch-size", "32"},  {"learn-rate", "1e-3"},
                                    {"lr-warmup", "3200"}, {"schedule", "cosine"}};
  return defaults;
}

void declare_train(Options& o, ClassifyConfig& c) {
  o.section("Data", Fixed::in_run);
  o.add(&c.data, "D,data", "PATH",
        "texts to learn from: a folder as aclImdb, or with train.tsv and test.tsv (or .csv), or one such file; without "
        "it, small reviews from a grammar, and these defaults: " +
            Options::as_arguments(review_defaults()))
      .fixed(Fixed::no);  // files may move
  o.add(&c.columns.label, "label-column", "COLUMN", "of a table: its name, or its number from 1");
  o.add(&c.columns.text, "text-column", "COLUMN", "of a table: its name, or its number from 1");
  o.add_flag(&c.columns.header, "header", "columns go by number, but the first row has their names");
  o.add(&c.split, "split", "SHARE", "share of the training part that trains; the others validate",
        more_than(0).and_less_than(1));
  o.add_flag(&c.final_run, "f,final", "train on the whole training part, and score the test part once, at the end");
  o.add_choice(&c.keep, "keep", {"start", "end"}, "which end of a longer text is read");

  o.section("Model", Fixed::with_weights);
  o.add(&c.vocabulary, "V,vocab-size", "N",
        "largest size of the vocabulary: four tokens of its own, and the most frequent words",
        at_least(5).and_at_most(1 << 24));
  o.add(&c.minimum_count, "min-count", "N", "least number of times that a word must occur to be known", at_least(1));
  o.add_flag(&c.cased, "cased", "capitals count: The and the are two words; otherwise all are read in lower case");
  o.add_flag(&c.punctuation, "punctuation", "marks are words of their own; otherwise they only separate words");
  o.add(&c.length, "M,max", "N", "largest number of words of a text that are read", at_least(1).and_at_most(1 << 20));
  o.add_choice(
      &c.model, "model", {"ctransformer", "textclassification"},
      "ctransformer pools by the mean or, with --max-pool, by the maximum; textclassification always by the mean, "
      "which makes the two the same without --max-pool");
  o.add_flag(&c.max_pool, "max-pool", "pool by the maximum").only_for("model", {"ctransformer"});
  o.add_flag(&c.mask_padding, "mask-padding",
             "hide what pads shorter texts from attention and pooling; the published models do not");
  o.add(&c.embedding, "E,embedding", "N", "width of the embeddings", at_least(1).and_at_most(1 << 16));
  o.add(&c.embedding_deviation, "embedding-deviation", "S",
        "standard deviation of words' embeddings at the start, and of positions that start as noise; a small one, say "
        "0.1, keeps rare words from being noise",
        more_than(0));
  o.add_choice(
      &c.positions, "positions", {"normal", "sinusoidal"},
      "what the position embeddings are before they learn: noise, as published, or waves that tell near from far");
  o.add(&c.heads, "H,heads", "N", "attention heads, each as wide as the embedding", at_least(1).and_at_most(1 << 10));
  o.add(&c.depth, "d,depth", "N", "blocks on top of each other", at_least(1).and_at_most(1 << 10));
  o.add(&c.hidden, "hidden", "N", "width of the feed-forward networks; 0 for 4 times the embedding",
        at_least(0).and_at_most(1 << 18));
  add_norm(o, c.norm);
  add_activation(o, c.activation);
  o.add(&c.dropout, "dropout", "P", "probability of dropping an activation in training", at_least(0).and_less_than(1))
      .fixed(Fixed::in_run);

  o.section("Training");
  o.add(&c.epochs, "e,num-epochs", "N", "times to go through the training texts; Ctrl-C ends earlier and saves",
        at_least(1).and_at_most(1 << 20));
  o.add(&c.word_dropout, "word-dropout", "P",
        "probability of hiding a word in training; as padding with --mask-padding, else as an unknown word",
        at_least(0).and_less_than(1));
  declare_batches(o, c.training);
  declare_training(o, c.training);

  o.section("Run");
  declare_run(o, c.training);
}

void check_columns(const Options& options, const data::TableColumns& columns, const std::string& data,
                   const std::string& reason_without_data) {
  const bool has_columns = !data.empty() && !data::has_class_folders(data);
  for (const char* name : {"label-column", "text-column", "header"}) {
    if (has_columns || !options.given(name)) continue;
    fail<UsageError>("--", name, ": ",
                     data.empty() ? reason_without_data : data + " has a folder per class, and no columns");
  }
  if (options.given("header") && !columns.header && columns.has_header()) {
    throw UsageError("--no-header: a column goes by its name, which is in the header; give numbers, or leave it out");
  }
}

}  // namespace reel::apps
