#include "apps/classify/train.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <numeric>

#include "apps/classify/model.h"
#include "apps/common/trainer.h"
#include "autograd/error.h"
#include "autograd/tape.h"
#include "data/batch_order.h"
#include "data/grammars.h"
#include "data/utf8.h"
#include "nn/bag_of_words.h"

namespace reel::apps {
namespace {

/// The texts of a run, cut into parts and encoded.
struct Parts {
  data::WordTokenizer tokenizer;
  std::vector<std::string> classes;
  EncodedTexts train, scored;         // what is scored: the validation part, or with --final the test part
  std::vector<std::string> examples;  // some of the texts that are scored, to show
};

Parts make_parts(const ClassifyConfig& c, const data::LabelledData& data,
                 std::optional<data::WordTokenizer> tokenizer) {
  if (c.final_run && !data.test) fail("--final: ", c.data, " has no test part; give a folder with train and test");
  const auto parts =
      c.final_run ? data::Split<data::LabelledText>{data.train, *data.test} : train_and_validation(c, data.train);
  if (!tokenizer) {
    tokenizer =
        data::WordTokenizer::train(parts.first.texts, {.maximum_size = c.vocabulary, .minimum_count = c.minimum_count});
  }
  const std::size_t shown = std::min<std::size_t>(parts.rest.texts.size(), 4);
  return {*tokenizer,
          data.train.classes,
          encode(parts.first, *tokenizer, c),
          encode(parts.rest, *tokenizer, c),
          {parts.rest.texts.begin(), parts.rest.texts.begin() + static_cast<std::ptrdiff_t>(shown)}};
}

/// The beginning of a text, on one line.
std::string excerpt(const std::string& text) {
  constexpr std::size_t longest = 100;
  std::u32string characters = data::decode_utf8(text);
  for (char32_t& character : characters) {
    if (character < U' ') character = U' ';  // line ends, and what a terminal would obey
  }
  if (characters.size() > longest) characters.replace(longest - 1, characters.npos, U"…");
  return data::encode_utf8(characters);
}

/// What word counts alone can tell: the score of a linear model of them, trained for a few epochs.
ClassifyScore score_of_baseline(const Parts& parts, std::uint64_t seed) {
  constexpr std::int64_t epochs = 5, batch_size = 32;
  nn::BagOfWords model(parts.tokenizer.vocabulary_size(), static_cast<std::int64_t>(parts.classes.size()),
                       data::pad_id);
  optim::Adam optimizer({{model.parameters()}}, {.learn_rate = 0.02});
  data::TrainingOrder order(data::lengths_of(parts.train.tokens), batch_size, data::TrainingOrder::Kind::bucketed,
                            seed);
  for (std::int64_t i = 0; i < epochs * order.batches_per_epoch(); ++i) {
    const data::Rows& rows = order.next();
    optimizer.zero_grad();
    Tape tape;
    tape.backward(cross_entropy(model(data::pad(parts.train.tokens, rows).ids), data::pick(parts.train.labels, rows)));
    optimizer.step();
  }
  return evaluate(model, parts.scored, batch_size);
}

class ClassifyTask : public Task {
 public:
  ClassifyTask(const ClassifyConfig& config, Parts parts, std::unique_ptr<nn::Classifier> model)
      : config_(config),
        parts_(std::move(parts)),
        model_(std::move(model)),
        order_(data::lengths_of(parts_.train.tokens), config.training.batch_size, data::TrainingOrder::Kind::bucketed,
               static_cast<std::uint64_t>(config.training.seed)) {}

  /// Steps of one time through the training texts.
  std::int64_t steps_per_epoch() const {
    return (order_.batches_per_epoch() + config_.training.accumulate - 1) / config_.training.accumulate;
  }
  const Parts& parts() const { return parts_; }

  void set_place(const data::TrainingOrder::State& state) { order_.set_state(state); }

  const nn::Module& model() const override { return *model_; }

  BatchLoss next_loss() override {
    const data::Rows& rows = order_.next();
    const auto [tokens, lengths] = data::pad(parts_.train.tokens, rows);
    const auto words = std::accumulate(lengths.values().begin(), lengths.values().end(), std::int64_t{0});
    return {nll_loss(model_->log_probs(tokens), data::pick(parts_.train.labels, rows)), words};
  }
  Measure train_loss(double loss) const override { return {"loss", loss, "classification/train-loss", loss}; }

  std::vector<std::string> score_columns() const override { return {"validation_loss", "validation_accuracy"}; }
  std::vector<Measure> score() override {
    if (config_.final_run) return {};  // the test part is looked at once, in the end
    score_ = score_now();
    return {{"validation_loss", score_.loss, "classification/validation-loss", score_.loss},
            {"validation_accuracy", score_.accuracy, "classification/validation-accuracy", score_.accuracy}};
  }
  ClassifyScore score_now() {
    model_->eval();
    const ClassifyScore score = evaluate([&](const Ids& tokens) { return model_->logits(tokens); }, parts_.scored, 64);
    model_->train();
    return score;
  }

  void show(const std::string& when, bool scored) override {
    if (scored && !config_.final_run) std::cout << when << "  validation " << to_string(score_) << std::endl;
  }

  Json::Object notes() const override {
    Json::Array classes;
    for (const std::string& name : parts_.classes) classes.push_back(name);
    return {{"vocabulary", parts_.tokenizer.vocabulary()}, {"classes", classes}, {"order", to_json(order_.state())}};
  }

  /// Some texts of the scored part, with what the model makes of them.
  void show_examples() {
    model_->eval();
    for (std::size_t i = 0; i < parts_.examples.size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i);
      const Tensor log_probs = model_->log_probs(data::pad(parts_.scored.tokens, {&row, 1}).ids);
      const std::int32_t guess = *argmax(log_probs, -1).data();
      std::cout << (guess == parts_.scored.labels[i] ? "  right  " : "  wrong  ")
                << parts_.classes[static_cast<std::size_t>(guess)] << "  " << excerpt(parts_.examples[i]) << '\n';
    }
    model_->train();
  }

 private:
  const ClassifyConfig& config_;
  Parts parts_;
  std::unique_ptr<nn::Classifier> model_;
  data::TrainingOrder order_;
  ClassifyScore score_;
};

/// What shapes the model, its vocabulary, its data and an epoch's steps.
constexpr std::array<std::string_view, 23> fixed{
    "data",   "label-column", "text-column", "header",   "split",        "final",      "vocab-size", "min-count",
    "max",    "keep",         "model",       "max-pool", "mask-padding", "embedding",  "heads",      "depth",
    "hidden", "norm",         "activation",  "dropout",  "batch-size",   "accumulate", "random-seed"};

}  // namespace

data::LabelledData read_classify_data(const ClassifyConfig& config, const std::vector<std::string>& classes) {
  return config.data.empty() ? data::review_corpus() : data::read_labelled_data(config.data, config.columns, classes);
}

data::Split<data::LabelledText> train_and_validation(const ClassifyConfig& config, const data::LabelledText& train) {
  Generator generator = random_stream(config.training.seed, Stream::samples);
  auto parts = data::split(train, config.split, generator);
  if (parts.first.texts.empty()) {
    throw UsageError(text("--split: ", config.split, " of ", train.texts.size(), " texts leaves none to train on"));
  }
  return parts;
}

void train_classifier(Options& options, ClassifyConfig& config) {
  use_threads(config.training.threads);
  std::optional<Checkpoint> saved;
  TrainedClassifier trained;
  if (config.training.resume) {
    saved = load_checkpoint(checkpoint_path(config.training.out), "classify");
    restore_options(options, *saved, fixed);
    trained = restore_classifier(*saved, checkpoint_path(config.training.out));
  } else {
    if (config.data.empty()) options.restore(review_defaults());
    start_random(config.training);
  }
  const data::LabelledData data = read_classify_data(config, trained.classes);
  Parts parts = make_parts(config, data, std::move(trained.tokenizer));
  if (!saved) {
    trained.model =
        make_classifier(config, parts.tokenizer.vocabulary_size(), static_cast<std::int64_t>(parts.classes.size()));
  }
  ClassifyTask task(config, std::move(parts), std::move(trained.model));
  const std::int64_t per_epoch = task.steps_per_epoch();
  Trainer trainer("classify", options, config.training, task, config.epochs * per_epoch, per_epoch);
  if (saved) {
    task.set_place(order_state_from(note(*saved, "order")));
    trainer.go_on(*saved);
  }

  std::cout << (config.data.empty() ? "built-in reviews" : config.data) << ": " << task.parts().train.tokens.size()
            << " texts to train on, " << task.parts().scored.tokens.size()
            << (config.final_run ? " to test" : " to validate") << ", " << task.parts().classes.size()
            << " classes, a vocabulary of " << task.parts().tokenizer.vocabulary_size() << '\n'
            << config.model << ": " << task.model().parameter_count() << " parameters, seed " << config.training.seed;
  if (saved) std::cout << ", resumed after step " << trainer.steps_done();
  std::cout << std::endl;
  if (!saved && config.training.warmup_steps() == 0 && config.norm == "post") {
    std::cout << "Norms come after the residuals here: without --lr-warmup, training may diverge." << std::endl;
  }
  if (!trainer.run()) return;
  task.show_examples();
  const char* part = config.final_run ? "test" : "validation";
  std::cout << part << " bag of words  "
            << to_string(score_of_baseline(task.parts(), static_cast<std::uint64_t>(config.training.seed))) << '\n'
            << part << ' ' << config.model << "  " << to_string(task.score_now()) << '\n'
            << "saved " << checkpoint_path(config.training.out).string() << std::endl;
}

}  // namespace reel::apps
