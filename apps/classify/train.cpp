#include "apps/classify/train.h"

#include <iostream>
#include <numeric>

#include "apps/classify/corpus.h"
#include "apps/classify/evaluate.h"
#include "apps/classify/model.h"
#include "apps/common/numbers.h"
#include "apps/common/words.h"
#include "apps/report/head_maps.h"
#include "apps/report/spread.h"
#include "apps/training/begin_run.h"
#include "apps/training/eval_mode.h"
#include "apps/training/score.h"
#include "apps/training/trainer.h"
#include "autograd/tape.h"
#include "data/batch_sampler.h"
#include "data/word_dropout.h"
#include "nn/bag_of_words.h"

namespace reel::apps {
namespace {

/// What word counts alone can tell: the score of a linear model of them, trained for a few epochs.
Score score_of_baseline(const LabelledCorpus& corpus, std::int64_t seed) {
  constexpr std::int64_t epochs = 5, batch_size = 32;
  nn::BagOfWords model(corpus.tokenizer.vocabulary_size(), static_cast<std::int64_t>(corpus.classes.size()),
                       data::pad_id);
  optim::Adam optimizer(model.parameters(), {.learning_rate = 0.02});
  data::BatchSampler sampler(data::lengths_of(corpus.train.tokens), batch_size, data::BatchSampler::Kind::bucketed,
                             random_stream(seed, Stream::batches));
  for (std::int64_t i = 0; i < epochs * sampler.batches_per_epoch(); ++i) {
    const data::Indices& rows = sampler.next();
    optimizer.zero_grad();
    Tape tape;
    const Tensor logits = model(data::pad(corpus.train.tokens, rows).ids);
    const Tensor loss = cross_entropy(logits, data::pick(corpus.train.labels, rows));
    tape.backward(loss);
    optimizer.step();
  }
  return evaluate(model, corpus.scored, batch_size);
}

class ClassifyTask : public Task {
 public:
  ClassifyTask(const ClassifyConfig& config, LabelledCorpus corpus, std::unique_ptr<nn::Classifier> model)
      : config_(config),
        corpus_(std::move(corpus)),
        model_(std::move(model)),
        sampler_(data::lengths_of(corpus_.train.tokens), config.training.batch_size, data::BatchSampler::Kind::bucketed,
                 random_stream(config.training.seed, Stream::batches)) {}

  const nn::Module& model() const override { return *model_; }
  bool is_post_norm() const override { return config_.norm == "post"; }

  std::string introduction() const override {
    const std::int64_t cut = corpus_.train.cut + corpus_.scored.cut;
    return text(corpus_.name, ": ", corpus_.train.tokens.size(), " texts to train on, ", corpus_.scored.tokens.size(),
                config_.final_run ? " to test, " : " to validate, ",
                cut > 0 ? text(cut, " of all cut at --max ", config_.length, ", ") : "", corpus_.classes.size(),
                " classes, a vocabulary of ", corpus_.tokenizer.vocabulary_size(), "\n", config_.model, ": ",
                model_->parameter_count(), " parameters, seed ", config_.training.seed);
  }
  std::string topic() const override { return "classification"; }
  std::string title() const override {
    return text(config_.model, " on ", corpus_.name, ", ", model_->parameter_count(), " parameters");
  }

  BatchLoss next_loss() override {
    const data::Indices& rows = sampler_.next();
    const auto [tokens, lengths] = data::pad(corpus_.train.tokens, rows);
    const Ids labels = data::pick(corpus_.train.labels, rows);
    const auto words = std::accumulate(lengths.values().begin(), lengths.values().end(), std::int64_t{0});
    const std::int32_t hidden = config_.mask_padding ? data::pad_id : data::unknown_id;
    const Tensor logits = model_->logits(data::drop_words(tokens, config_.word_dropout, hidden, default_generator()));
    return {cross_entropy(logits, labels), words, count_hits(logits, labels)};
  }

  std::optional<Score> score() override {
    if (config_.final_run) return std::nullopt;  // the test part is looked at once, in the end
    return score_now();
  }

  void show(const std::string& when, const std::optional<Score>& score) override {
    if (score) std::cout << when << "  validation " << line_of_texts(*score) << std::endl;
  }

  StringPairs finish(const std::optional<Score>& validated) override {
    finished_ = true;
    const Score score = validated ? *validated : score_now();
    check_finite(score, config_.training.out);
    for (const Prediction& prediction : predictions()) {
      std::cout << (prediction.guess == prediction.label ? "  right  " : "  wrong  ") << prediction.guess << "  "
                << excerpt(prediction.text, 100) << '\n';
    }
    const std::string part = config_.final_run ? "test" : "validation";
    const Score words = score_of_baseline(corpus_, config_.training.seed);
    std::cout << part << " bag of words  " << line_of_texts(words) << std::endl;
    std::cout << part << ' ' << config_.model << "  " << line_of_texts(score) << std::endl;
    StringPairs results;
    if (config_.final_run) {
      results = {{"test loss", short_number(score.loss, 4)}, {"test accuracy", short_number(score.accuracy, 4)}};
    }
    results.emplace_back("a bag of words' accuracy", short_number(words.accuracy, 4));
    return results;
  }

  void report(Report& report) override {
    if (config_.final_run && !finished_) return;
    report.section("Predictions", text("Some texts that the model did not learn from: the ",
                                       config_.final_run ? "test" : "validation", " part's."));
    std::vector<std::vector<std::string>> rows;
    for (const Prediction& prediction : predictions()) {
      rows.push_back(
          {prediction.label, prediction.guess, short_number(prediction.probability, 4), excerpt(prediction.text, 300)});
    }
    report.table("Examples", {"label", "model", "probability", "text"}, rows);
    show_attention(report);
  }

  std::uint32_t fingerprint() const override { return apps::fingerprint(corpus_); }

  Json::Object notes() const override {
    Json::Array classes;
    for (const std::string& name : corpus_.classes) classes.push_back(name);
    return {{"vocabulary", corpus_.tokenizer.vocabulary()}, {"classes", classes}, {"order", to_json(sampler_.state())}};
  }
  void restore(const Checkpoint& saved) override { sampler_.set_state(sampler_state_from(note(saved, "order"))); }

 private:
  Score score_now() { return evaluate(*model_, corpus_.scored); }

  struct Prediction {
    std::string label, guess;
    double probability;  // of the guess
    std::string text;
  };
  /// What the model makes of the examples.
  std::vector<Prediction> predictions() {
    std::vector<Prediction> predictions;
    for (const auto& [place, text] : corpus_.examples) {
      const Guess guess = best_guess(*model_, corpus_.scored.tokens[place]);
      predictions.push_back({corpus_.classes[static_cast<std::size_t>(corpus_.scored.labels[place])],
                             corpus_.classes[guess.label], guess.probability, text});
    }
    return predictions;
  }

  /// Where each head of the first and the last block looks while the model reads the first example.
  void show_attention(Report& report) {
    constexpr std::int64_t longest = 36;
    const data::Tokens& whole = corpus_.scored.tokens[corpus_.examples[0].place];
    const data::Tokens tokens = data::cut_to(whole, longest, data::Keep::start).tokens;
    const std::vector<std::string> names = token_names(corpus_.tokenizer, tokens);
    const EvalMode mode(*model_);
    const std::vector<Tensor> maps = model_->attention_maps(Ids({1, std::ssize(tokens)}, tokens));
    if (maps.empty()) return;
    report.section("Attention",
                   text("In the first of these texts", tokens.size() < whole.size() ? ", the beginning of it" : "",
                        ". Each row is a word, and shows where the model looks from there."));
    for (std::size_t block = 0; block < maps.size(); ++block) {
      if (block > 0 && block + 1 < maps.size()) continue;
      add_head_maps(report, text("Block ", block + 1), maps[block], names, names);
    }
  }

  const ClassifyConfig& config_;
  LabelledCorpus corpus_;
  std::unique_ptr<nn::Classifier> model_;
  data::BatchSampler sampler_;
  bool finished_ = false;
};

}  // namespace

void train(Options& options, ClassifyConfig& config) {
  TrainingConfig& training = config.training;
  std::optional<Checkpoint> saved =
      begin_run("classify", options, training, config.data.empty() ? review_defaults() : StringPairs{});
  check_run(options, training);
  if (config.final_run && options.given("split")) {
    throw UsageError("--split: --final trains on the whole training part; leave out one of them");
  }
  check_columns(options, config.columns, config.data, "the built-in reviews have no columns; name a table with --data");
  TrainedClassifier trained;
  if (saved) trained = restore_classifier(*saved, config);
  LabelledCorpus corpus = read_labelled_corpus(config, trained.classes, std::move(trained.tokenizer));
  const Plan plan = plan_epochs(training, config.epochs, std::ssize(corpus.train.tokens));
  if (!saved) {
    const auto texts = corpus.train.tokens.size() + corpus.scored.tokens.size(), classes = corpus.classes.size();
    if (classes > 2 && 2 * classes > texts && !data::has_class_folders(config.data)) {
      std::cerr << "classify train: " << texts << " texts are of " << classes
                << " classes; are the columns of labels and texts exchanged?" << std::endl;
    }
    trained.model = make_classifier(config, corpus.tokenizer.vocabulary_size(), std::ssize(corpus.classes));
  }
  ClassifyTask task(config, std::move(corpus), std::move(trained.model));
  Trainer trainer("classify", options, training, task, plan);
  trainer.run(std::move(saved));
}

}  // namespace reel::apps
