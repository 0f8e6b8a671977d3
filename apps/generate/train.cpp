#include "apps/generate/train.h"

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
#include "data/utf8.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace reel::apps {
namespace {

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

optim::Schedule make_schedule(const GenerateConfig& c) {
  const std::int64_t warmup = c.lr_warmup / (c.batch_size * c.accumulate);
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
  double step();
  Score validate();
  void show_sample(const std::string& title);
  void record(double loss, const std::optional<Score>& score);
  void save();
  bool learn();

  std::filesystem::path checkpoint() const { return checkpoint_path(config_.out); }

  Options& options_;
  GenerateConfig& config_;
  Corpus corpus_;
  std::optional<data::TextDataset> text_;
  std::unique_ptr<nn::LanguageModel> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Generator batches_;
  std::int64_t steps_done_ = 0;
  double gradient_norm_ = 0;
  std::optional<MetricsFile> metrics_;
  std::optional<EventFile> events_;
};

Run::Run(Options& options, GenerateConfig& config) : options_(options), config_(config) {
  if (config_.resume) {
    go_on();
  } else {
    start();
  }
}

/// A new run.
void Run::start() {
  if (config_.seed < 0) config_.seed = std::random_device{}();
  use_threads(config_.threads);
  corpus_ = read_corpus(config_);
  if (!config_.counts()) text_.emplace(corpus_.train, config_.context, "the training part of " + corpus_.name);
  ensure_folder(config_.out);
  if (std::filesystem::exists(checkpoint())) {
    const auto previous = std::filesystem::path(config_.out) / "previous.safetensors";
    std::filesystem::rename(checkpoint(), previous);
    std::cout << "An earlier run's checkpoint is kept as " << previous.string() << '\n';
  }

  default_generator() = random_stream(config_.seed, Stream::weights_and_dropout);
  batches_ = random_stream(config_.seed, Stream::batches);
  model_ = make_model(config_, corpus_.tokenizer->vocabulary_size(), corpus_.train);
  optimizer_ = make_optimizer(config_, *model_);
}

/// A run that was saved, from its last step on.
void Run::go_on() {
  const Checkpoint saved = load_checkpoint(checkpoint(), "generate");
  // What shapes the model and its vocabulary cannot change half-way.
  for (const char* fixed : {"model", "tokenizer", "context", "embedding", "heads", "depth", "order", "split"}) {
    if (options_.given(fixed)) {
      throw UsageError(text("--", fixed, " cannot change within a run; leave it out with --resume, or start anew"));
    }
  }
  const std::string out = config_.out;
  options_.restore(options_from(note(saved, "options")));
  config_.out = out;
  config_.resume = true;
  use_threads(config_.threads);

  TrainedModel trained = restore_model(saved, checkpoint());
  if (config_.counts()) throw UsageError("--resume: a model that counts is done after one pass; there is no more to learn");
  model_ = std::move(trained.model);
  corpus_ = read_corpus(config_, std::move(trained.tokenizer));
  text_.emplace(corpus_.train, config_.context, "the training part of " + corpus_.name);
  optimizer_ = make_optimizer(config_, *model_);
  optimizer_->load_state(saved.optimizer);
  steps_done_ = note(saved, "step").get<std::int64_t>();
  default_generator().set_state(generator_state_from(note(saved, "random")));
  batches_.set_state(generator_state_from(note(saved, "batches")));
  if (steps_done_ >= config_.num_batches) {
    throw UsageError(text("--resume: the run has its ", steps_done_, " steps; give more with --num-batches"));
  }
}

/// The mean loss of a step's batches, whose gradients change the weights.
double Run::step() {
  optimizer_->zero_grad();
  double total = 0;
  for (std::int64_t i = 0; i < config_.accumulate; ++i) {
    const data::Batch batch = data::random_batch(*text_, config_.batch_size, batches_);
    Tape tape;
    const Tensor loss = nll_loss((*model_)(batch.inputs), batch.targets) * (1.0 / static_cast<double>(config_.accumulate));
    tape.backward(loss);
    total += loss.item();
  }
  gradient_norm_ = optim::clip_grad_norm(model_->parameters(), config_.gradient_clipping);
  if (!std::isfinite(total) || !std::isfinite(gradient_norm_)) {
    fail("the loss is no longer a finite number after ", steps_done_,
         " steps; try a lower --learn-rate or a longer --lr-warmup. The last checkpoint is as it was");
  }
  optimizer_->step();
  ++steps_done_;
  return total;
}

Score Run::validate() {
  return evaluate(*model_, corpus_.validation, config_.batch_size, "the validation part of " + corpus_.name);
}

void Run::show_sample(const std::string& title) {
  if (config_.sample_length == 0) return;
  Generator generator = random_stream(config_.seed, Stream::samples);
  std::vector<std::int32_t> written;
  write_tokens(*model_, {corpus_.validation.front()}, config_.sample_length, {}, generator, [&](std::int32_t token) {
    written.push_back(token);
    return !interrupted();
  });
  std::cout << "--- " << title << " ---\n"
            << data::replace_invalid_utf8(corpus_.tokenizer->decode(written)) << "\n---" << std::endl;
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

void Run::save() {
  Checkpoint checkpoint{model_->state_dict(), optimizer_->state(), {}};
  checkpoint.notes = {{"app", "generate"},
                      {"options", to_json(options_.values())},
                      {"vocabulary", corpus_.tokenizer->vocabulary()},
                      {"step", steps_done_},
                      {"random", to_json(default_generator().state())},
                      {"batches", to_json(batches_.state())}};
  save_checkpoint(this->checkpoint(), checkpoint);
}

void Run::train() {
  const auto last_step = steps_done_ > 0 ? std::optional(steps_done_) : std::nullopt;
  metrics_.emplace(
      std::filesystem::path(config_.out) / "metrics.csv",
      std::vector<std::string>{"loss", "learn_rate", "gradient_norm", "validation_loss", "validation_accuracy"}, last_step);
  events_.emplace(config_.tb_dir.empty() ? config_.out : config_.tb_dir, steps_done_ + 1);
  std::cout << config_.model << ": " << model_->parameter_count() << " parameters, vocabulary "
            << corpus_.tokenizer->vocabulary_size() << ", " << corpus_.train.size() << " tokens train, "
            << corpus_.validation.size() << " validate, seed " << config_.seed << std::endl;
  watch_interrupts();
  if (!config_.counts() && !learn()) {
    std::cout << "Stopped after step " << steps_done_ << " and saved. To go on: generate train --resume --out "
              << config_.out << std::endl;
    return;
  }
  save();
  show_sample("after training");
  std::cout << "validation " << to_string(validate()) << '\n';
  if (config_.final_run) {
    std::cout << "test "
              << to_string(evaluate(*model_, corpus_.test, config_.batch_size, "the test part of " + corpus_.name)) << '\n';
  }
  std::cout << "saved " << checkpoint().string() << std::endl;
}

/// All steps that are left; false if an interrupt ended them early. Either way the last one is saved.
bool Run::learn() {
  if (config_.lr_warmup == 0 && config_.model == "gtransformer") {
    std::cout << "Norms come after the residuals here: without --lr-warmup, training may diverge." << std::endl;
  }
  if (steps_done_ == 0) show_sample("before training");
  const optim::Schedule schedule = make_schedule(config_);
  const std::int64_t tokens = config_.accumulate * config_.batch_size * config_.context;
  Progress progress(config_.num_batches, steps_done_);
  while (steps_done_ < config_.num_batches && !interrupted()) {
    optimizer_->set_learn_rate(schedule(steps_done_));
    const double loss = step();
    progress.update(steps_done_, loss, tokens);
    if (steps_done_ % config_.test_every != 0 || steps_done_ == config_.num_batches) {
      record(loss, std::nullopt);
      continue;
    }
    const Score score = validate();
    record(loss, score);
    progress.print("validation " + to_string(score));
    progress.clear();
    show_sample("after " + std::to_string(steps_done_) + " steps");
    save();
  }
  save();
  if (!interrupted()) progress.finish();
  return !interrupted();
}

}  // namespace

void train(Options& options, GenerateConfig& config) { Run(options, config).train(); }

}  // namespace reel::apps
