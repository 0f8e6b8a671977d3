#include "apps/translate/train.h"

#include <algorithm>
#include <array>
#include <iostream>

#include "apps/common/trainer.h"
#include "apps/translate/model.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "data/batch_order.h"
#include "data/grammars.h"

namespace reel::apps {
namespace {

class TranslateTask : public Task {
 public:
  TranslateTask(const TranslateConfig& config, data::ParallelData data, data::WordTokenizer source,
                data::WordTokenizer target, std::unique_ptr<nn::Translator> model)
      : config_(config),
        data_(std::move(data)),
        source_(std::move(source)),
        target_(std::move(target)),
        train_(encode_pairs(data_.train, source_, target_, config.length)),
        validation_(encode_pairs(data_.validation, source_, target_, config.length)),
        model_(std::move(model)),
        order_(lengths(train_), config.training.batch_size, data::TrainingOrder::Kind::bucketed,
               static_cast<std::uint64_t>(config.training.seed)) {}

  /// Steps of one time through the training pairs.
  std::int64_t steps_per_epoch() const {
    return (order_.batches_per_epoch() + config_.training.accumulate - 1) / config_.training.accumulate;
  }
  void set_place(const data::TrainingOrder::State& state) { order_.set_state(state); }

  const nn::Module& model() const override { return *model_; }

  BatchLoss next_loss() override {
    const PairBatch batch = make_batch(train_, order_.next());
    const Tensor logits = (*model_)(batch.sources, batch.inputs);
    return {cross_entropy(logits, batch.outputs,
                          {.ignore_index = data::pad_id, .label_smoothing = config_.label_smoothing}),
            batch.words};
  }
  Measure train_loss(double loss) const override { return {"loss", loss, "translation/train-loss", loss}; }

  std::vector<std::string> score_columns() const override { return {"validation_loss", "validation_accuracy"}; }
  std::vector<Measure> score() override {
    score_ = evaluate(*model_, validation_, config_.training.batch_size);
    return {{"validation_loss", score_.loss, "translation/validation-loss", score_.loss},
            {"validation_accuracy", score_.accuracy, "translation/validation-accuracy", score_.accuracy}};
  }

  void show(const std::string& when, bool scored) override {
    if (!scored) return;
    std::cout << when << "  validation " << to_string(score_) << '\n';
    const EncodedPairs few = first_pairs(validation_, 2);
    const auto translations = translate_all(*model_, few, target_, 1, 0, config_.length);
    for (std::size_t i = 0; i < translations.size(); ++i) {
      std::cout << "  source     " << data_.validation.sources[i] << "\n  reference  " << data_.validation.targets[i]
                << "\n  model      " << translations[i] << '\n';
    }
    std::cout << std::flush;
  }

  Json::Object notes() const override {
    return {{"source vocabulary", source_.vocabulary()},
            {"target vocabulary", target_.vocabulary()},
            {"order", to_json(order_.state())}};
  }

  void introduce(std::int64_t steps_done) const {
    std::cout << (config_.data.empty() ? "built-in sentences" : config_.data) << ": " << train_.sources.size()
              << " pairs to train on, " << validation_.sources.size() << " to validate, vocabularies of "
              << source_.vocabulary_size() << " and " << target_.vocabulary_size() << '\n'
              << config_.model << ": " << model_->parameter_count() << " parameters, seed " << config_.training.seed;
    if (steps_done > 0) std::cout << ", resumed after step " << steps_done;
    std::cout << std::endl;
    if (steps_done == 0 && config_.training.warmup_steps() == 0 && config_.model == "transformer" &&
        config_.norm == "post") {
      std::cout << "Norms come after the residuals here: without --lr-warmup, training may diverge." << std::endl;
    }
  }

  /// The last line on one part: perplexity and BLEU.
  void show_part(const std::string& name, const data::ParallelText& text) {
    const EncodedPairs pairs = encode_pairs(text, source_, target_, config_.length);
    std::cout << name << ' ' << to_string(evaluate(*model_, pairs, config_.training.batch_size)) << '\n'
              << name << ' '
              << bleu_line(translate_all(*model_, pairs, target_, 1, 0, config_.length), text, target_, 1) << std::endl;
  }
  void show_final() {
    if (!config_.final_run) return show_part("validation", data_.validation);
    for (const auto& [name, text] : data_.tests) show_part(name, text);
  }

 private:
  static EncodedPairs first_pairs(const EncodedPairs& pairs, std::size_t count) {
    const auto shown = static_cast<std::ptrdiff_t>(std::min(count, pairs.sources.size()));
    return {{pairs.sources.begin(), pairs.sources.begin() + shown},
            {pairs.targets.begin(), pairs.targets.begin() + shown}};
  }
  static std::vector<std::int64_t> lengths(const EncodedPairs& pairs) {
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i < pairs.sources.size(); ++i) {
      lengths.push_back(static_cast<std::int64_t>(pairs.sources[i].size() + pairs.targets[i].size()));
    }
    return lengths;
  }

  const TranslateConfig& config_;
  data::ParallelData data_;
  data::WordTokenizer source_, target_;
  EncodedPairs train_, validation_;
  std::unique_ptr<nn::Translator> model_;
  data::TrainingOrder order_;
  TranslateScore score_;
};

/// What shapes the model, its vocabularies, its data and an epoch's steps.
constexpr std::array<std::string_view, 18> fixed{
    "data",  "source", "target",  "vocab-size", "min-count", "max", "model",      "embedding",  "heads",
    "depth", "hidden", "dropout", "positions",  "norm",      "tie", "batch-size", "accumulate", "random-seed"};

}  // namespace

data::ParallelData read_translate_data(const TranslateConfig& config) {
  return config.data.empty() ? data::sentence_corpus()
                             : data::read_parallel_folder(config.data, config.source, config.target);
}

void train_translator(Options& options, TranslateConfig& config) {
  TrainingConfig& training = config.training;
  use_threads(training.threads);
  const auto path = checkpoint_path(training.out);
  std::optional<Checkpoint> saved;
  TrainedTranslator trained;
  if (training.resume) {
    saved = load_checkpoint(path, "translate");
    restore_options(options, *saved, fixed);
    trained = restore_translator(*saved, path);
  } else {
    if (config.data.empty()) options.restore(sentence_defaults());
    check_heads(config);
    start_random(training);
  }
  data::ParallelData data = read_translate_data(config);
  if (!saved) {
    const data::VocabularyLimits limits{.maximum_size = config.vocabulary, .minimum_count = config.minimum_count};
    trained.source = data::WordTokenizer::train(data.train.sources, limits);
    trained.target = data::WordTokenizer::train(data.train.targets, limits);
    trained.model = make_translator(config, trained.source->vocabulary_size(), trained.target->vocabulary_size());
  }

  TranslateTask task(config, std::move(data), *trained.source, *trained.target, std::move(trained.model));
  const std::int64_t per_epoch = task.steps_per_epoch();
  Trainer trainer("translate", options, training, task, config.epochs * per_epoch, per_epoch);
  if (saved) {
    task.set_place(order_state_from(note(*saved, "order")));
    trainer.go_on(*saved);
  }
  task.introduce(trainer.steps_done());
  if (!trainer.run()) return;
  task.show_final();
  std::cout << "saved " << path.string() << std::endl;
}

}  // namespace reel::apps
