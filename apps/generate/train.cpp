#include "apps/generate/train.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <numbers>
#include <optional>
#include <sstream>

#include "apps/common/trainer.h"
#include "apps/generate/corpus.h"
#include "apps/generate/model.h"
#include "apps/generate/score.h"
#include "apps/generate/write.h"
#include "autograd/ops.h"
#include "data/sampler.h"
#include "data/utf8.h"

namespace reel::apps {
namespace {

class GenerateTask : public Task {
 public:
  GenerateTask(const GenerateConfig& config, Corpus corpus, std::unique_ptr<nn::LanguageModel> model)
      : config_(config),
        corpus_(std::move(corpus)),
        model_(std::move(model)),
        batches_(random_stream(config.training.seed, Stream::batches)) {
    if (!config_.counts()) text_.emplace(corpus_.train, config_.context, "the training part of " + corpus_.name);
  }

  void set_place(const Generator::State& state) { batches_.set_state(state); }

  const nn::Module& model() const override { return *model_; }

  BatchLoss next_loss() override {
    const data::Batch batch = data::random_batch(*text_, config_.training.batch_size, batches_);
    return {nll_loss((*model_)(batch.inputs), batch.targets), batch.targets.numel()};
  }
  Measure train_loss(double loss) const override {
    return {"loss", loss, "transformer/train-loss", loss * std::numbers::log2e};
  }

  std::vector<std::string> score_columns() const override { return {"validation_loss", "validation_accuracy"}; }
  std::vector<Measure> score() override {
    score_ = score_of(corpus_.validation, "validation");
    return {{"validation_loss", score_.loss, "transformer/eval-loss", score_.bits()},
            {"validation_accuracy", score_.accuracy, "transformer/eval-accuracy", score_.accuracy}};
  }
  Score score_of(const std::vector<std::int32_t>& tokens, const char* part) {
    return evaluate(*model_, tokens, config_.training.batch_size, text("the ", part, " part of ", corpus_.name));
  }

  void show(const std::string& when, bool scored) override {
    if (config_.sample_length > 0) {
      Generator generator = random_stream(config_.training.seed, Stream::samples);
      std::ostringstream sample;
      print_text(sample, *model_, *corpus_.tokenizer, default_prompt(*corpus_.tokenizer), config_.sample_length, {},
                 generator);
      samples_.emplace_back(when, sample.str());
      std::cout << "--- " << when << " ---\n" << sample.str() << "\n---" << std::endl;
    }
    if (scored) std::cout << "validation " << to_string(score_) << std::endl;
  }

  std::string title() const override {
    return text(config_.model, " on ", corpus_.name, ", ", model_->parameter_count(), " parameters");
  }
  void report(Report& report) override {
    report.section("Samples", "What the model writes after a line break, from random weights to trained ones.");
    for (const auto& [when, sample] : samples_) report.sample(when, sample);
    show_attention(report);
  }

  Json::Object notes() const override {
    return {{"vocabulary", corpus_.tokenizer->vocabulary()}, {"batches", to_json(batches_.state())}};
  }

  void introduce(std::int64_t steps_done) const {
    std::cout << corpus_.name << ": " << corpus_.train.size() << " tokens to train on, " << corpus_.validation.size()
              << " to validate";
    if (config_.final_run) std::cout << ", " << corpus_.test.size() << " to test";
    std::cout << ", a vocabulary of " << corpus_.tokenizer->vocabulary_size() << '\n' << config_.model;
    if (!config_.counts()) {
      std::cout << ": " << model_->parameter_count() << " parameters, seed " << config_.training.seed;
    }
    if (steps_done > 0) std::cout << ", resumed after step " << steps_done;
    std::cout << std::endl;
    if (steps_done == 0 && config_.training.warmup_steps() == 0 && config_.model == "gtransformer") {
      std::cout << "Norms come after the residuals here: without --lr-warmup, training may diverge." << std::endl;
    }
  }
  void show_test() {
    if (config_.final_run) std::cout << "test " << to_string(score_of(corpus_.test, "test")) << '\n';
  }

 private:
  /// Where each head looks while the model reads the start of the validation part.
  void show_attention(Report& report) {
    constexpr std::int64_t longest = 48;
    const std::int64_t T = std::min({longest, config_.context, static_cast<std::int64_t>(corpus_.validation.size())});
    const std::vector<std::int32_t> tokens(corpus_.validation.begin(), corpus_.validation.begin() + T);
    model_->eval();
    const std::vector<Tensor> maps = model_->attention_maps(Ids({1, T}, tokens));
    model_->train();
    if (maps.empty()) return;
    std::vector<std::string> names;
    for (const std::int32_t& token : tokens) {
      const std::string piece = corpus_.tokenizer->decode({&token, 1});
      names.push_back(piece == "\n" ? "⏎" : piece == " " ? "␣" : data::replace_invalid_utf8(piece));
    }
    report.section("Attention", "Each row is a place in the text, and shows where the model looks from there.");
    for (std::size_t block = 0; block < maps.size(); ++block) {
      for (std::int64_t head = 0; head < maps[block].size(1); ++head) {
        report.attention(text("Block ", block + 1, ", head ", head + 1), names, names,
                         maps[block].select(1, head).to_vector());
      }
    }
  }

  const GenerateConfig& config_;
  Corpus corpus_;
  std::unique_ptr<nn::LanguageModel> model_;
  Generator batches_;
  std::optional<data::TextDataset> text_;
  Score score_;
  std::vector<std::pair<std::string, std::string>> samples_;  // when, and what was written
};

/// What shapes the model, its vocabulary and its validation part.
constexpr std::array<std::string_view, 10> fixed{"model", "tokenizer", "context", "embedding", "heads",
                                                 "depth", "order",     "split",   "final",     "random-seed"};

}  // namespace

void train(Options& options, GenerateConfig& config) {
  TrainingConfig& training = config.training;
  use_threads(training.threads);
  const auto path = checkpoint_path(training.out);
  std::optional<Checkpoint> saved;
  TrainedModel trained;
  if (training.resume) {
    saved = load_checkpoint(path, "generate");
    restore_options(options, *saved, fixed);
    if (config.counts()) throw UsageError("--resume: a model that counts is done after one pass; start anew");
    trained = restore_model(*saved, path);
  } else {
    start_random(training);
  }
  Corpus corpus = read_corpus(config, std::move(trained.tokenizer));
  if (!saved) trained.model = make_model(config, corpus.tokenizer->vocabulary_size(), corpus.train);

  GenerateTask task(config, std::move(corpus), std::move(trained.model));
  Trainer trainer("generate", options, training, task, config.counts() ? 0 : config.num_batches, config.test_every);
  if (saved) {
    task.set_place(generator_state_from(note(*saved, "batches")));
    trainer.go_on(*saved);
  }
  task.introduce(trainer.steps_done());
  if (config.counts()) {
    trainer.save_without_steps();
    task.score();
    task.show("after counting", true);
  } else if (!trainer.run()) {
    return;
  }
  task.show_test();
  std::cout << "saved " << path.string() << std::endl;
}

}  // namespace reel::apps
