#include "apps/generate/train.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>

#include "apps/common/interrupt.h"
#include "apps/common/numbers.h"
#include "apps/generate/corpus.h"
#include "apps/generate/evaluate.h"
#include "apps/generate/model.h"
#include "apps/generate/write.h"
#include "apps/report/head_maps.h"
#include "apps/training/begin_run.h"
#include "apps/training/eval_mode.h"
#include "apps/training/trainer.h"
#include "autograd/ops.h"
#include "data/window_sampler.h"

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

  const nn::Module& model() const override { return *model_; }
  bool is_post_norm() const override { return config_.model == "gtransformer" && config_.norm == "post"; }

  std::string introduction() const override {
    const std::string tested = config_.final_run ? text(", ", corpus_.test.size(), " to test") : "";
    const std::string learnt =
        config_.counts() ? "" : text(": ", model_->parameter_count(), " parameters, seed ", config_.training.seed);
    return text(corpus_.name, ": ", corpus_.train.size(), " tokens to train on, ", corpus_.validation.size(),
                " to validate", tested, ", a vocabulary of ", corpus_.tokenizer->vocabulary_size(), "\n", config_.model,
                learnt);
  }
  std::string topic() const override { return "generation"; }
  std::string title() const override {
    const std::string size = config_.counts() ? "" : text(", ", model_->parameter_count(), " parameters");
    return text(config_.model, " on ", corpus_.name, size);
  }

  BatchLoss next_loss() override {
    const data::Batch batch = data::random_batch(*text_, config_.training.batch_size, batches_);
    const Tensor log_probs = (*model_)(batch.inputs);
    return {nll_loss(log_probs, batch.targets), batch.targets.numel(), count_hits(log_probs, batch.targets)};
  }

  std::optional<Score> score() override {
    std::span<const std::int32_t> tokens = corpus_.validation;
    const std::int64_t most = config_.validation_tokens;
    if (most > 0 && most < std::ssize(tokens)) tokens = tokens.first(static_cast<std::size_t>(most) + 1);
    return score_of(tokens, "validation");
  }

  void show(const std::string& when, const std::optional<Score>& score) override {
    if (config_.sample_length > 0) {
      Generator generator = random_stream(config_.training.seed, Stream::samples_and_splits);
      std::ostringstream sample;
      print_text(sample, *model_, *corpus_.tokenizer, default_prompt(*corpus_.tokenizer), config_.sample_length, {},
                 generator);
      const bool cut_short = interrupted();
      if (!cut_short) keep_sample(when, sample.str());
      std::cout << "--- " << when << " ---\n"
                << sample.str() << (cut_short ? "\n--- cut short: the report leaves it out" : "\n---") << std::endl;
    }
    if (score) std::cout << "validation " << line_of_tokens(*score) << std::endl;
  }

  StringPairs finish(const std::optional<Score>&) override {
    if (!config_.final_run) return {};
    const Score tested = score_of(corpus_.test, "test");
    check_finite(tested, config_.training.out);
    std::cout << "test " << line_of_tokens(tested) << std::endl;
    return {{"test loss", short_number(tested.loss, 4)}, {"test accuracy", short_number(tested.accuracy, 4)}};
  }

  void report(Report& report) override {
    if (!samples_.empty()) {
      const data::Tokenizer& tokenizer = *corpus_.tokenizer;
      const bool breaks_lines = tokenizer.decode(default_prompt(tokenizer)) == "\n";
      report.section("Samples", text("What the model writes after ",
                                     breaks_lines ? "a line break" : "the first token of its vocabulary",
                                     samples_.size() > 1 ? ", as it learns." : "."));
      for (const auto& [when, sample] : samples_) report.sample(when, sample);
    }
    show_attention(report);
  }

  std::uint32_t fingerprint() const override { return apps::fingerprint(corpus_); }

  Json::Object notes() const override {
    return {{"vocabulary", corpus_.tokenizer->vocabulary()},
            {"batches", to_json(batches_.state())},
            {"samples", to_json(samples_)}};
  }

  void restore(const Checkpoint& saved) override {
    batches_.set_state(generator_state_from(note(saved, "batches")));
    samples_ = string_pairs_from(note(saved, "samples"));
  }

 private:
  Score score_of(std::span<const std::int32_t> tokens, const char* part) {
    return evaluate(*model_, tokens, config_.training.batch_size, text("the ", part, " part of ", corpus_.name));
  }

  /// For the report, which shows how writing gets better: of many samples, or long ones, every second will do, and the
  /// first and the last. One that is very long would fill a checkpoint.
  void keep_sample(const std::string& when, std::string sample) {
    constexpr std::size_t most = 60, most_bytes = 5'000'000;
    // A run that stopped after it, before the next step, does it again when it is resumed.
    if (!samples_.empty() && samples_.back().first == when) samples_.pop_back();
    if (sample.size() > most_bytes) return;
    samples_.emplace_back(when, std::move(sample));
    auto bytes = [&] {
      std::size_t sum = 0;
      for (const auto& [name, kept] : samples_) sum += kept.size();
      return sum;
    };
    while (samples_.size() > most || (samples_.size() > 2 && bytes() > most_bytes)) {
      StringPairs kept;
      for (std::size_t i = 0; i < samples_.size(); ++i) {
        if (i % 2 == 0 || i + 1 == samples_.size()) kept.push_back(std::move(samples_[i]));
      }
      samples_ = std::move(kept);
    }
  }

  /// Where each head looks while the model reads the start of the validation part.
  void show_attention(Report& report) {
    constexpr std::int64_t longest = 44;
    const std::int64_t T = std::min({longest, config_.context, static_cast<std::int64_t>(corpus_.validation.size())});
    const data::Tokens tokens(corpus_.validation.begin(), corpus_.validation.begin() + T);
    const EvalMode mode(*model_);
    const std::vector<Tensor> maps = model_->attention_maps(Ids({1, T}, tokens));
    if (maps.empty()) return;
    const std::vector<std::string> names = token_names(*corpus_.tokenizer, tokens);
    report.section("Attention", "Each row is a place in the text, and shows where the model looks from there.");
    for (std::size_t block = 0; block < maps.size(); ++block) {
      add_head_maps(report, text("Block ", block + 1), maps[block], names, names);
    }
  }

  const GenerateConfig& config_;
  Corpus corpus_;
  std::unique_ptr<nn::LanguageModel> model_;
  Generator batches_;
  std::optional<data::TextDataset> text_;
  StringPairs samples_;  // when, and what was written
};

}  // namespace

void train(Options& options, GenerateConfig& config) {
  TrainingConfig& training = config.training;
  const bool learns_source = config.data.empty() && !config.counts();
  std::optional<Checkpoint> saved =
      begin_run("generate", options, training, learns_source ? source_defaults() : StringPairs{});
  if (saved && config.counts()) {
    fail<UsageError>(training.resume ? "--resume" : "--from",
                     ": a model that counts is done after one pass; start anew");
  }
  if (config.counts() && options.given("tb-dir")) throw UsageError("--tb-dir: a model that counts has no curves");
  check_run(options, training);
  const Plan plan = plan_steps(training, config.counts() ? 0 : config.steps, config.test_every);
  TrainedModel trained;
  if (saved) trained = restore_model(*saved, config);
  Corpus corpus = read_corpus(config, std::move(trained.tokenizer), training.resume ? Role::learnt : Role::to_learn);
  if (!saved) trained.model = make_model(config, corpus.tokenizer->vocabulary_size(), corpus.train);

  GenerateTask task(config, std::move(corpus), std::move(trained.model));
  Trainer trainer("generate", options, training, task, plan);
  trainer.run(std::move(saved));
}

}  // namespace reel::apps
