#include "apps/generate/train.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numbers>
#include <optional>
#include <random>

#include "apps/common/atomic_file.h"
#include "apps/common/interrupt.h"
#include "apps/common/metrics.h"
#include "apps/common/progress.h"
#include "apps/common/tensorboard.h"
#include "apps/generate/corpus.h"
#include "apps/generate/model.h"
#include "apps/generate/score.h"
#include "apps/generate/write.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "data/sampler.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace reel::apps {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> metrics_columns{"loss", "learn_rate", "gradient_norm", "validation_loss",
                                               "validation_accuracy"};
fs::path metrics_path(const fs::path& folder) { return folder / "metrics.csv"; }

/// Random numbers of one purpose: far enough from the others of the same seed that they never meet.
enum class Stream : std::uint64_t { weights_and_dropout, batches, samples };
Generator random_stream(std::int64_t seed, Stream stream) {
  Generator generator;
  generator.set_state({static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(stream) << 56});
  return generator;
}

std::unique_ptr<optim::Optimizer> make_optimizer(const GenerateConfig& c, const nn::LanguageModel& model) {
  const auto groups = optim::decay_matrices_only(model.parameters(), c.weight_decay);
  const optim::AdamOptions adam{.learn_rate = c.learn_rate, .beta2 = c.beta2};
  if (c.optimizer == "sgd") {
    return std::make_unique<optim::SGD>(groups, optim::SGD::Options{.learn_rate = c.learn_rate, .momentum = 0.9});
  }
  if (c.optimizer == "adamw") return std::make_unique<optim::AdamW>(groups, adam);
  return std::make_unique<optim::Adam>(groups, adam);
}

/// Whole steps of --lr-warmup, which counts examples.
std::int64_t warmup_steps(const GenerateConfig& c) {
  const std::int64_t examples = c.batch_size * c.accumulate;
  return c.lr_warmup / examples + (c.lr_warmup % examples > 0 ? 1 : 0);
}

/// What each option allows by itself, but the schedule does not.
void check_schedule(const GenerateConfig& c) {
  if (c.counts() || c.schedule != "cosine") return;
  if (c.min_lr > c.learn_rate) {
    throw UsageError(text("--min-lr: ", c.min_lr, " is more than the --learn-rate of ", c.learn_rate));
  }
  if (warmup_steps(c) >= c.num_batches) {
    throw UsageError(text("--lr-warmup: ", c.lr_warmup, " examples are ", warmup_steps(c), " steps of the ",
                          c.num_batches, " of --num-batches; the cosine needs some that are left"));
  }
}

optim::Schedule make_schedule(const GenerateConfig& c) {
  const std::int64_t warmup = warmup_steps(c);
  optim::Schedule schedule = optim::constant(c.learn_rate);
  if (c.schedule == "cosine") schedule = optim::cosine(c.learn_rate, c.min_lr, c.num_batches - warmup);
  if (c.schedule == "invsqrt") schedule = optim::inverse_sqrt(c.learn_rate, warmup);
  return optim::warmup(warmup, schedule);
}

/// One run: everything that a step needs and a checkpoint holds.
class Run {
 public:
  Run(Options& options, GenerateConfig& config);
  void train();

 private:
  void start();
  void go_on();
  void introduce() const;
  bool learn();
  double step();
  Score score(const std::vector<std::int32_t>& tokens, const char* part);
  void record(double loss, const std::optional<Score>& score);
  void take_folder();
  void save();
  void show(const Score& score);
  void show_sample(const std::string& title);
  [[noreturn]] void fail_diverged() const;

  Options& options_;
  GenerateConfig& config_;
  Corpus corpus_;
  std::optional<data::TextDataset> text_;
  std::unique_ptr<nn::LanguageModel> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Generator batches_;
  std::int64_t steps_done_ = 0;
  double gradient_norm_ = 0;
  std::optional<MetricsFile> metrics_;  // once the folder is this run's own
  std::optional<EventFile> events_;
};

Run::Run(Options& options, GenerateConfig& config) : options_(options), config_(config) {
  if (config_.resume) {
    go_on();
  } else {
    start();
  }
}

/// A new run. It leaves an earlier one's files alone until it has something to put in their place.
void Run::start() {
  check_schedule(config_);
  if (config_.seed < 0) config_.seed = std::random_device{}();
  corpus_ = read_corpus(config_);
  if (!config_.counts()) text_.emplace(corpus_.train, config_.context, "the training part of " + corpus_.name);
  ensure_folder(config_.out);

  default_generator() = random_stream(config_.seed, Stream::weights_and_dropout);
  batches_ = random_stream(config_.seed, Stream::batches);
  model_ = make_model(config_, corpus_.tokenizer->vocabulary_size(), corpus_.train);
  optimizer_ = make_optimizer(config_, *model_);
}

/// A run that was saved, from its last step on.
void Run::go_on() {
  const Checkpoint saved = load_checkpoint(checkpoint_path(config_.out), "generate");
  const auto kept = options_from(note(saved, "options"));
  options_.restore(kept);
  // What shapes the model, its vocabulary and its validation part cannot change half-way.
  constexpr std::array fixed{"model", "tokenizer", "context", "embedding", "heads",
                             "depth", "order",     "split",   "final",     "random-seed"};
  for (const auto& [name, value] : options_.values()) {
    const bool is_fixed = std::find(fixed.begin(), fixed.end(), name) != fixed.end();
    if (is_fixed && std::find(kept.begin(), kept.end(), std::pair(name, value)) == kept.end()) {
      throw UsageError(text("--", name, " cannot change within a run; leave it out with --resume, or start anew"));
    }
  }
  if (config_.counts()) throw UsageError("--resume: a model that counts is done after one pass; start anew");
  steps_done_ = note(saved, "step").get<std::int64_t>();
  if (steps_done_ >= config_.num_batches) {
    throw UsageError(text("--resume: the run has its ", steps_done_, " steps; give more with --num-batches"));
  }
  check_schedule(config_);

  TrainedModel trained = restore_model(saved, checkpoint_path(config_.out));
  model_ = std::move(trained.model);
  corpus_ = read_corpus(config_, std::move(trained.tokenizer));
  text_.emplace(corpus_.train, config_.context, "the training part of " + corpus_.name);
  optimizer_ = make_optimizer(config_, *model_);
  optimizer_->load_state(saved.optimizer);
  default_generator().set_state(generator_state_from(note(saved, "random")));
  batches_.set_state(generator_state_from(note(saved, "batches")));
  ensure_folder(config_.out);
  metrics_.emplace(metrics_path(config_.out), metrics_columns, steps_done_);
}

void Run::introduce() const {
  std::cout << corpus_.name << ": " << corpus_.train.size() << " tokens to train on, " << corpus_.validation.size()
            << " to validate";
  if (config_.final_run) std::cout << ", " << corpus_.test.size() << " to test";
  std::cout << ", a vocabulary of " << corpus_.tokenizer->vocabulary_size() << '\n' << config_.model;
  if (!config_.counts()) std::cout << ": " << model_->parameter_count() << " parameters, seed " << config_.seed;
  if (steps_done_ > 0) std::cout << ", resumed after step " << steps_done_;
  std::cout << std::endl;
  if (steps_done_ == 0 && warmup_steps(config_) == 0 && config_.model == "gtransformer") {
    std::cout << "Norms come after the residuals here: without --lr-warmup, training may diverge." << std::endl;
  }
}

void Run::train() {
  introduce();
  watch_interrupts();
  if (config_.counts()) {
    take_folder();
    show_sample("after counting");
    show(score(corpus_.validation, "validation"));
  } else if (!learn()) {
    std::cout << "Stopped after step " << steps_done_ << " of " << config_.num_batches << " and saved. To go on: "
              << "generate train --resume --out " << config_.out << std::endl;
    return;
  }
  if (config_.final_run) std::cout << "test " << to_string(score(corpus_.test, "test")) << '\n';
  std::cout << "saved " << checkpoint_path(config_.out).string() << std::endl;
}

/// All steps that are left; false if an interrupt ended them early. Either way the last one is saved.
bool Run::learn() {
  events_.emplace(config_.tb_dir.empty() ? config_.out : config_.tb_dir, steps_done_ + 1);
  if (steps_done_ == 0) show_sample("before training");
  const optim::Schedule schedule = make_schedule(config_);
  const std::int64_t tokens = config_.accumulate * config_.batch_size * config_.context;
  Progress progress(config_.num_batches, steps_done_);
  bool saved = false;
  while (steps_done_ < config_.num_batches && !(interrupted() && steps_done_ > 0)) {
    optimizer_->set_learn_rate(schedule(steps_done_));
    const double loss = step();
    if (!metrics_) take_folder();
    progress.update(steps_done_, loss, tokens);
    const bool last = steps_done_ == config_.num_batches;
    saved = last || steps_done_ % config_.test_every == 0;
    if (!saved) {
      record(loss, std::nullopt);
      continue;
    }
    const Score score = this->score(corpus_.validation, "validation");
    if (!std::isfinite(score.loss)) fail_diverged();
    record(loss, score);
    save();  // before anything is shown: that can fail, too
    if (last) progress.finish();
    progress.clear();
    show_sample(text("after step ", steps_done_));
    show(score);
  }
  if (!saved) save();
  return steps_done_ == config_.num_batches;
}

/// The mean loss of a step's batches, whose gradients change the weights.
double Run::step() {
  optimizer_->zero_grad();
  double total = 0;
  for (std::int64_t i = 0; i < config_.accumulate; ++i) {
    const data::Batch batch = data::random_batch(*text_, config_.batch_size, batches_);
    Tape tape;
    const Tensor loss =
        nll_loss((*model_)(batch.inputs), batch.targets) * (1.0 / static_cast<double>(config_.accumulate));
    tape.backward(loss);
    total += loss.item();
  }
  gradient_norm_ = optim::clip_grad_norm(model_->parameters(), config_.gradient_clipping);
  if (!std::isfinite(total) || !std::isfinite(gradient_norm_)) fail_diverged();
  optimizer_->step();
  ++steps_done_;
  return total;
}

Score Run::score(const std::vector<std::int32_t>& tokens, const char* part) {
  return evaluate(*model_, tokens, config_.batch_size, text("the ", part, " part of ", corpus_.name));
}

void Run::record(double loss, const std::optional<Score>& score) {
  const double rate = optimizer_->learn_rate();
  events_->add_scalar("transformer/train-loss", loss * std::numbers::log2e, steps_done_);
  events_->add_scalar("transformer/learn-rate", rate, steps_done_);
  if (!score) {
    metrics_->write(steps_done_, {{"loss", loss}, {"learn_rate", rate}, {"gradient_norm", gradient_norm_}});
    return;
  }
  events_->add_scalar("transformer/eval-loss", score->bits(), steps_done_);
  metrics_->write(steps_done_, {{"loss", loss},
                                {"learn_rate", rate},
                                {"gradient_norm", gradient_norm_},
                                {"validation_loss", score->loss},
                                {"validation_accuracy", score->accuracy}});
}

/// The first save of a new run. What an earlier one left in the folder is kept as previous.safetensors and
/// previous.csv, or previous-2 and so on where these names are taken.
void Run::take_folder() {
  const fs::path folder = config_.out, checkpoint = checkpoint_path(folder);
  std::string name = "previous";
  for (int i = 2; fs::exists(folder / (name + ".safetensors")); ++i) name = text("previous-", i);
  const fs::path kept = folder / (name + ".safetensors");
  const bool occupied = fs::exists(checkpoint);
  if (occupied) fs::rename(checkpoint, kept);
  try {
    save();
  } catch (...) {
    if (occupied) fs::rename(kept, checkpoint);
    throw;
  }
  if (occupied) {
    if (fs::exists(metrics_path(folder))) fs::rename(metrics_path(folder), folder / (name + ".csv"));
    std::cout << "An earlier run's checkpoint is kept as " << kept.string() << std::endl;
  }
  metrics_.emplace(metrics_path(folder), metrics_columns);
}

void Run::save() {
  for (const auto& [name, weight] : model_->state_dict()) {
    if (!std::isfinite(sum(weight).item())) fail_diverged();
  }
  // Where it lies and how it is run are no part of a run: with other threads, its checkpoint is the same to the byte.
  auto options = options_.values();
  std::erase_if(options, [](const auto& o) { return o.first == "out" || o.first == "resume" || o.first == "threads"; });
  Checkpoint checkpoint{model_->state_dict(), optimizer_->state(), {}};
  checkpoint.notes = {{"app", "generate"},
                      {"options", to_json(options)},
                      {"vocabulary", corpus_.tokenizer->vocabulary()},
                      {"step", steps_done_},
                      {"random", to_json(default_generator().state())},
                      {"batches", to_json(batches_.state())}};
  save_checkpoint(checkpoint_path(config_.out), checkpoint);
}

void Run::show(const Score& score) { std::cout << "validation " << to_string(score) << std::endl; }

void Run::show_sample(const std::string& title) {
  if (config_.sample_length == 0) return;
  Generator generator = random_stream(config_.seed, Stream::samples);
  std::cout << "--- " << title << " ---\n";
  print_text(std::cout, *model_, *corpus_.tokenizer, default_prompt(*corpus_.tokenizer), config_.sample_length, {},
             generator);
  std::cout << "\n---" << std::endl;
}

void Run::fail_diverged() const {
  fail("training diverged: after step ", steps_done_, " the loss is no longer a finite number; what was saved before ",
       "is kept. Try a lower --learn-rate or a longer --lr-warmup");
}

}  // namespace

void train(Options& options, GenerateConfig& config) {
  use_threads(config.threads);
  Run(options, config).train();
}

}  // namespace reel::apps
