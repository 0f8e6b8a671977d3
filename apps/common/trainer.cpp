#include "apps/common/trainer.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "apps/common/atomic_file.h"
#include "apps/common/axis.h"
#include "apps/common/interrupt.h"
#include "apps/common/metrics_reader.h"
#include "apps/common/progress.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "optim/clip.h"

namespace reel::apps {
namespace {

namespace fs = std::filesystem;

fs::path metrics_path(const fs::path& folder) { return folder / "metrics.csv"; }

std::vector<std::string> columns_of(const Task& task) {
  std::vector<std::string> columns{"loss", "learn_rate", "gradient_norm"};
  for (const std::string& column : task.score_columns()) columns.push_back(column);
  return columns;
}

}  // namespace

void restore_options(Options& options, const Checkpoint& saved, std::span<const std::string_view> fixed) {
  const auto kept = options_from(note(saved, "options"));
  options.restore(kept);
  for (const auto& [name, value] : options.values()) {
    const bool is_fixed = std::find(fixed.begin(), fixed.end(), name) != fixed.end();
    if (is_fixed && std::find(kept.begin(), kept.end(), std::pair(name, value)) == kept.end()) {
      throw UsageError(text("--", name, " cannot change within a run; leave it out with --resume, or start anew"));
    }
  }
}

Trainer::Trainer(std::string app, const Options& options, const TrainingConfig& config, Task& task, std::int64_t steps,
                 std::int64_t test_every)
    : app_(std::move(app)), options_(options), config_(config), task_(task), steps_(steps), test_every_(test_every) {
  if (steps_ > 0) check_schedule(config_, steps_);
  ensure_folder(config_.out);
  optimizer_ = make_optimizer(config_, task_.model());
}

void Trainer::go_on(const Checkpoint& saved) {
  steps_done_ = note(saved, "step").get<std::int64_t>();
  if (steps_done_ >= steps_)
    throw UsageError(
        text("--resume: the run has its ", steps_done_, " steps; give more with --num-batches or --num-epochs"));
  optimizer_->load_state(saved.optimizer);
  default_generator().set_state(generator_state_from(note(saved, "random")));
  metrics_.emplace(metrics_path(config_.out), columns_of(task_), steps_done_);
}

bool Trainer::run() {
  watch_interrupts();
  events_.emplace(config_.tb_dir.empty() ? config_.out : config_.tb_dir, steps_done_ + 1);
  if (steps_done_ == 0) task_.show("before training", false);
  const optim::Schedule schedule = make_schedule(config_, steps_);
  Progress progress(steps_, steps_done_);
  bool saved = false;
  while (steps_done_ < steps_ && !(interrupted() && steps_done_ > 0)) {
    optimizer_->set_learn_rate(schedule(steps_done_));
    std::int64_t tokens = 0;
    const double loss = step(tokens);
    if (!metrics_) take_folder();
    progress.update(steps_done_, loss, tokens);
    const bool last = steps_done_ == steps_;
    saved = last || steps_done_ % test_every_ == 0;
    if (!saved) {
      record(loss, {});
      continue;
    }
    const std::vector<Measure> score = task_.score();
    for (const Measure& measure : score) {
      if (!std::isfinite(measure.value)) fail_diverged();
    }
    record(loss, score);
    save();  // before anything is shown: that can fail, too
    if (last) progress.finish();
    progress.clear();
    task_.show(text("after step ", steps_done_), true);
    write_report(score);
  }
  if (!saved) save();
  if (steps_done_ == steps_) return true;
  std::cout << "Stopped after step " << steps_done_ << " of " << steps_ << " and saved. To go on: " << app_
            << " train --resume --out " << config_.out << std::endl;
  return false;
}

void Trainer::save_without_steps() {
  watch_interrupts();
  take_folder();
}

/// The mean loss of a step's batches, whose gradients change the weights.
double Trainer::step(std::int64_t& tokens) {
  optimizer_->zero_grad();
  const double share = 1 / static_cast<double>(config_.accumulate);
  double total = 0;
  for (std::int64_t i = 0; i < config_.accumulate; ++i) {
    Tape tape;
    const Task::BatchLoss loss = task_.next_loss();
    const Tensor part = loss.mean * share;
    tape.backward(part);
    total += part.item();
    tokens += loss.tokens;
  }
  gradient_norm_ = optim::clip_grad_norm(task_.model().parameters(), config_.gradient_clipping);
  if (!std::isfinite(total) || !std::isfinite(gradient_norm_)) fail_diverged();
  optimizer_->step();
  ++steps_done_;
  return total;
}

void Trainer::record(double loss, std::span<const Measure> score) {
  const double rate = optimizer_->learn_rate();
  std::vector<std::pair<std::string_view, double>> row{
      {"loss", loss}, {"learn_rate", rate}, {"gradient_norm", gradient_norm_}};
  const Measure train_loss = task_.train_loss(loss);
  events_->add_scalar(train_loss.tag, train_loss.tag_value, steps_done_);
  events_->add_scalar("training/learn-rate", rate, steps_done_);
  for (const Measure& measure : score) {
    row.emplace_back(measure.column, measure.value);
    events_->add_scalar(measure.tag, measure.tag_value, steps_done_);
  }
  metrics_->write(steps_done_, row);
}

/// The first save of a new run. What an earlier one left in the folder is kept as previous.safetensors and
/// previous.csv, or previous-2 and so on where these names are taken.
void Trainer::take_folder() {
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
  metrics_.emplace(metrics_path(folder), columns_of(task_));
}

void Trainer::save() {
  const nn::StateDict& weights = task_.model().state_dict();
  for (const auto& [name, weight] : weights) {
    if (!std::isfinite(sum(weight).item())) fail_diverged();
  }
  // Where it lies and how it is run are no part of a run: with other threads, its checkpoint is the same to the byte.
  auto options = options_.values();
  std::erase_if(options, [](const auto& o) { return o.first == "out" || o.first == "resume" || o.first == "threads"; });
  Checkpoint checkpoint{weights,
                        optimizer_->state(),
                        {{"app", app_},
                         {"options", to_json(options)},
                         {"step", steps_done_},
                         {"random", to_json(default_generator().state())}}};
  for (auto& [key, value] : task_.notes()) checkpoint.notes.emplace_back(key, value);
  save_checkpoint(checkpoint_path(config_.out), checkpoint);
}

void Trainer::write_report(std::span<const Measure> score) {
  auto points = read_metrics(metrics_path(config_.out));
  Report report(app_, task_.title());
  Report::Pairs highlights{{"steps", std::to_string(steps_done_)}};
  for (const Measure& measure : score) {
    std::string name = measure.column;
    std::replace(name.begin(), name.end(), '_', ' ');
    highlights.emplace_back(name, short_number(measure.value, 4));
  }
  report.highlights(highlights);

  report.section("Training", "The band is the range of the steps, the line their smoothed mean.");
  report.curve("Loss, in nats", {{"train", points["loss"]}, {"validation", points["validation_loss"]}});
  if (!points["validation_accuracy"].empty()) report.curve("Accuracy", {{"validation", points["validation_accuracy"]}});
  report.curve("Learning rate", {{"learning rate", points["learn_rate"]}}, {.smooth = false});
  task_.report(report);
  report.section("Options");
  report.settings(options_.values());
  report.write(fs::path(config_.out) / "report.html");
}

void Trainer::fail_diverged() const {
  fail("training diverged: after step ", steps_done_, " the loss is no longer a finite number; what was saved before ",
       "is kept. Try a lower --learn-rate or a longer --lr-warmup");
}

}  // namespace reel::apps
