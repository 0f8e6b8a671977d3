#include "apps/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>

#include "apps/common/atomic_file.h"
#include "apps/common/interrupt.h"
#include "apps/common/numbers.h"
#include "apps/common/string_pairs.h"
#include "apps/common/words.h"
#include "apps/training/metrics_reader.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "data/file.h"
#include "optim/clip.h"

namespace reel::apps {
namespace {

/// Of metrics.csv, after the step.
const std::vector<std::string> metrics_columns{"loss",          "accuracy",        "learn_rate",
                                               "gradient_norm", "validation_loss", "validation_accuracy"};

/// "loss 0.6931 nats  accuracy 0.5123  learning rate 0.001"
std::string line_of(double loss, double accuracy, double learning_rate) {
  return text("loss ", fixed(loss, 4), " nats  accuracy ", fixed(accuracy, 4), "  learning rate ",
              short_number(learning_rate, 3));
}

Json to_json(const ScoreSum& sum) {
  return Json::Object{{"losses", sum.losses}, {"right", sum.hits.right}, {"all", sum.hits.all}};
}

ScoreSum score_sum_from(const Json& json) {
  auto count = [&](const char* key) { return json.at(key).get<std::int64_t>(); };
  return {json.at("losses").number(), {count("right"), count("all")}};
}

/// What a checkpoint keeps of the options. Where it lies and how it is run are no part of a run: with other threads,
/// its checkpoint is the same to the byte.
StringPairs kept_options(const Options& options) {
  StringPairs kept = options.values();
  std::erase_if(kept, [](const auto& o) { return o.first == "out" || o.first == "resume" || o.first == "threads"; });
  return kept;
}

using Metrics = std::map<std::string, std::vector<Point>>;

/// Of the steps with the lowest validation loss the first.
struct Best {
  std::int64_t step;
  double loss;
};

std::optional<Best> best_of(const Metrics& metrics) {
  const auto losses = metrics.find("validation_loss");
  if (losses == metrics.end() || losses->second.empty()) return std::nullopt;
  const Point lowest = *std::ranges::min_element(losses->second, {}, &Point::y);
  return Best{static_cast<std::int64_t>(lowest.x), lowest.y};
}

/// The curves of a run that takes steps.
void add_curves(Report& report, Metrics points) {
  report.section("Training",
                 "Of many steps, a line shows the smoothed mean, and a band their range, as far as that fits.");
  auto compare = [&](std::string_view title, const std::string& column) {
    std::vector<Series> series{{"train", points[column]}};
    if (auto validation = points["validation_" + column]; !validation.empty()) {
      series.push_back({"validation", std::move(validation)});
    }
    report.curve(title, series);
  };
  compare("Loss, in nats", "loss");
  compare("Accuracy", "accuracy");
  report.curve("Learning rate", {{"learning rate", points["learn_rate"]}}, {.smooth = false});
}

}  // namespace

Trainer::Trainer(std::string app, const Options& options, const TrainingConfig& config, Task& task, Plan plan)
    : app_(std::move(app)),
      options_(options),
      config_(config),
      task_(task),
      plan_(std::move(plan)),
      fingerprint_(task.fingerprint()),
      folder_(config_.out),
      optimizer_(plan_.steps > 0 ? make_optimizer(config_, task_.model()) : nullptr) {}

void Trainer::resume(const Checkpoint& saved) {
  if (!learnt_from(saved, fingerprint_)) {
    const StringPairs options = options_.values();
    const std::string* data = find(options, "data");
    const bool built_in = data && data->empty();
    fail("the data are no longer those that the run in ", config_.out, " began with; ",
         built_in ? "this program was built from other source:" : "put these back, or", " start anew without --resume");
  }
  // Another run may have gone on while this one read the data, before it had the folder to itself.
  if (note(load_checkpoint(saved.path, app_), "step") != note(saved, "step")) {
    fail("another run has gone on in ", config_.out, " meanwhile; resume again");
  }
  load_optimizer(saved);
  read_notes(saved, [&] {
    task_.restore(saved);
    steps_done_ = steps_saved_ = note(saved, "step").get<std::int64_t>();
    const Json& last = note(saved, "last step");
    last_ = {score_sum_from(last.at("score")), last.at("gradient norm").number(), last.at("learning rate").number()};
    since_score_ = score_sum_from(note(saved, "since score"));
    interval_score_ = score_sum_from(note(saved, "interval"));
    default_generator().set_state(generator_state_from(note(saved, "random")));
  });
  if (plan_.steps < steps_done_) {
    fail<UsageError>("--", plan_.option, " gives ", plan_.steps, " steps, but the run has already taken ", steps_done_,
                     "; give more, or leave it out with --resume");
  }
  if (steps_done_ <= 1) std::filesystem::remove(folder_.best());  // perhaps an earlier run's (keep_if_best)
  if (steps_done_ <= 1 && !has_own_metrics()) {
    begin_files();
  } else {
    metrics_.emplace(folder_.metrics(), metrics_columns, steps_done_);
  }
  is_recorded_ = steps_done_ == 0 || metrics_->last_step() == steps_done_;
  options_are_saved_ = string_pairs_from(note(saved, "options")) == kept_options(options_);
  if (!options_are_saved_ && steps_done_ == plan_.steps) save();  // there is no step left that would
}

void Trainer::load_optimizer(const Checkpoint& saved) {
  try {
    optimizer_->load_state_dict(saved.optimizer);
  } catch (const Error&) {
    const auto kept = string_pairs_from(note(saved, "options"));
    if (const std::string* began_with = find(kept, "optimizer"); began_with && *began_with != config_.optimizer) {
      fail<UsageError>("--optimizer: the run began with ", *began_with, ", and what it keeps is of no use to ",
                       config_.optimizer, "; leave it out with --resume, or start anew");
    }
    throw;
  }
}

void Trainer::run(std::optional<Checkpoint> saved) {
  if (saved && config_.resume) resume(*saved);
  saved.reset();  // as large as model and optimizer together
  watch_interrupts();
  introduce();
  if (plan_.steps == 0) {
    count();
  } else if (!take_steps()) {
    write_report();
    const bool looks_like_option = config_.out.starts_with('-');
    std::cout << "Stopped after step " << steps_done_ << " of " << plan_.steps << " and saved. To go on: " << app_
              << " train --resume --out" << (looks_like_option ? '=' : ' ') << shell_word(config_.out) << std::endl;
    return;
  }
  write_report(task_.finish(score_));
  std::cout << "saved " << folder_.checkpoint().string();
  const auto best = best_of(read_metrics(folder_.metrics()));
  if (best && best->step < steps_done_ && std::filesystem::exists(folder_.best())) {
    std::cout << "; " << folder_.best().filename().string() << " beside it is of step " << best->step
              << ", whose validation loss was the lowest, " << fixed(best->loss, 4);
  }
  std::cout << std::endl;
}

void Trainer::introduce() const {
  std::cout << task_.introduction();
  if (steps_done_ > 0) {
    std::cout << ", resumed after step " << steps_done_;
  } else if (!config_.from.empty()) {
    std::cout << ", which begins with the weights of " << config_.from;
  }
  std::cout << std::endl;
  if (plan_.steps > 0 && steps_done_ >= plan_.steps) {
    std::cout << "The run has taken all its steps; for more, say --" << plan_.option << std::endl;
  }
  if (const std::int64_t warmup = plan_.steps_for(config_.lr_warmup); plan_.steps > 0 && warmup >= plan_.steps) {
    std::cout << "The run has " << plan_.steps << " steps, its warm-up " << warmup
              << ": the rate will not reach --learn-rate. A smaller --lr-warmup may be better." << std::endl;
  }
  if (steps_done_ == 0 && config_.lr_warmup == 0 && task_.is_post_norm()) {
    std::cout << "Norms come after the residuals here: without --lr-warmup, training may diverge." << std::endl;
  }
}

void Trainer::show_where_it_stands() {
  events_.emplace(config_.tb_dir.empty() ? config_.out : config_.tb_dir);
  if (metrics_) events_->begin(steps_done_ + (is_recorded_ ? 1 : 0));  // a new run has not claimed its folder yet
  if (steps_done_ == 0) {
    task_.show("before training", score_);
  } else if (is_recorded_ && is_scored()) {
    if (steps_done_ >= plan_.steps) score_ = task_.score();  // for its end, which comes again
    task_.show(text("after step ", steps_done_), score_);    // again: the checkpoint was saved before
  }
  if (metrics_ && is_recorded_) keep_if_best();  // it may have been killed before it did
  progress_.emplace(plan_.steps, steps_done_);
  if (!is_recorded_) {
    if (since_score_.hits.all > 0) interval_score_ = since_score_;  // saved within an interval, which may end here now
    is_scored() ? end_interval() : record();
    is_recorded_ = true;
  }
}

bool Trainer::take_steps() {
  show_where_it_stands();
  const optim::Schedule schedule = make_schedule(config_, plan_);
  while (steps_done_ < plan_.steps && !interrupted()) {
    optimizer_->set_learning_rate(schedule(steps_done_));
    const std::int64_t tokens = step();
    if (is_scored()) interval_score_ = since_score_;
    // Not at the last step: a longer run has no score there.
    if (steps_done_ % plan_.test_every == 0) since_score_ = {};
    if (!metrics_) claim_folder();
    progress_->update(steps_done_, last_.sum.score().loss, tokens);
    is_scored() ? end_interval() : record_or_save();
  }
  progress_.reset();
  if (!metrics_) {
    claim_folder();  // before the first step
  } else if (steps_saved_ < steps_done_ || !options_are_saved_) {
    save();
  }
  return steps_done_ >= plan_.steps;
}

void Trainer::end_interval() {
  save_and_score();
  record();
  keep_if_best();
  if (steps_done_ >= plan_.steps) progress_->finish();
  progress_->clear();
  const Score trained = interval_score_.score();
  const std::string when = text("after step ", steps_done_);
  std::cout << when << "  train " << line_of(trained.loss, trained.accuracy, last_.learning_rate) << std::endl;
  task_.show(when, score_);
  write_report();
  progress_->skip();
}

void Trainer::record_or_save() {
  score_.reset();
  try {
    record();
  } catch (...) {
    save();  // a disk may be full, but not the one that checkpoints are on
    throw;
  }
}

void Trainer::count() {
  claim_folder();
  score_ = task_.score();
  metrics_->write(0, {{"validation_loss", score_->loss}, {"validation_accuracy", score_->accuracy}});
  task_.show("after counting", score_);
}

/// The gradient is that of the mean loss of all predictions of the step, whichever batch they are in.
std::int64_t Trainer::step() {
  optimizer_->zero_grad();
  const std::int64_t batches = plan_.batches_of_step(steps_done_, config_.accumulate);
  const std::vector<Tensor> parameters = task_.model().parameters();
  last_ = {.learning_rate = optimizer_->learning_rate()};
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    Tape tape;
    const Task::BatchLoss loss = task_.next_loss();
    tape.backward(batches == 1 ? loss.mean : loss.mean * static_cast<double>(loss.hits.all));
    last_.sum.add(loss.mean.item(), loss.hits);
    tokens += loss.tokens;
  }
  if (batches > 1) optim::scale_grads(parameters, 1 / static_cast<double>(last_.sum.hits.all));
  const double no_limit = std::numeric_limits<double>::infinity(), limit = config_.gradient_clipping;
  last_.gradient_norm = optim::clip_grad_norm(parameters, limit > 0 ? limit : no_limit);
  if (!std::isfinite(last_.sum.losses) || !std::isfinite(last_.gradient_norm)) fail_diverged();
  since_score_ += last_.sum;
  optimizer_->step();
  ++steps_done_;
  return tokens;
}

void Trainer::record() {
  const Score step = last_.sum.score();
  std::vector<std::pair<std::string_view, double>> row{{"loss", step.loss},
                                                       {"accuracy", step.accuracy},
                                                       {"learn_rate", last_.learning_rate},
                                                       {"gradient_norm", last_.gradient_norm}};
  if (score_) {
    row.emplace_back("validation_loss", score_->loss);
    row.emplace_back("validation_accuracy", score_->accuracy);
  }
  metrics_->write(steps_done_, row);

  auto show = [&](const std::string& name, double value) { events_->add_scalar(name, value, steps_done_); };
  show("training/learn-rate", last_.learning_rate);
  show(task_.topic() + "/train-loss", step.loss);
  show(task_.topic() + "/train-accuracy", step.accuracy);
  if (score_) {
    show(task_.topic() + "/validation-loss", score_->loss);
    show(task_.topic() + "/validation-accuracy", score_->accuracy);
  }
}

/// A run's first save may be all that it has left in its folder, and the rest an earlier run's, whose first step had
/// another loss.
bool Trainer::has_own_metrics() const {
  if (!std::filesystem::exists(folder_.metrics())) return false;
  const auto points = read_metrics(folder_.metrics());
  const auto losses = points.find("loss");
  if (losses == points.end() || losses->second.empty()) return false;
  const auto [step, loss] = losses->second.front();
  return step == static_cast<double>(steps_done_) && csv_number(loss) == csv_number(last_.sum.score().loss);
}

void Trainer::begin_files() {
  for (const auto& file : {folder_.best(), folder_.report()}) std::filesystem::remove(file);
  metrics_.emplace(folder_.metrics(), metrics_columns);
}

void Trainer::claim_folder() {
  if (const auto kept = folder_.take_over([&] { save(); })) {
    std::cout << "An earlier run's checkpoint is kept as " << kept->string() << std::endl;
  }
  begin_files();
  if (events_) events_->begin(1);
}

void Trainer::save() {
  const nn::StateDict& weights = task_.model().state_dict();
  for (const auto& [name, weight] : weights) {
    if (!std::isfinite(sum(weight).item())) fail_diverged();
  }
  Checkpoint checkpoint{weights,
                        optimizer_ ? optimizer_->state_dict() : NamedTensors{},
                        {{"app", app_},
                         {"options", to_json(kept_options(options_))},
                         {"step", steps_done_},
                         {"data", std::int64_t{fingerprint_}},
                         {"last step", Json::Object{{"score", to_json(last_.sum)},
                                                    {"gradient norm", last_.gradient_norm},
                                                    {"learning rate", last_.learning_rate}}},
                         {"since score", to_json(since_score_)},
                         {"interval", to_json(interval_score_)},
                         {"random", to_json(default_generator().state())}}};
  for (auto& [key, value] : task_.notes()) checkpoint.notes.emplace_back(key, value);
  save_checkpoint(folder_.checkpoint(), checkpoint);
  steps_saved_ = steps_done_;
  options_are_saved_ = true;
}

/// Saves first: scoring may take long, and may be killed. If the score is not finite, puts the last checkpoint back:
/// after the first step, none. One that an earlier process has saved stays.
void Trainer::save_and_score() {
  const std::filesystem::path path = folder_.checkpoint();
  const bool is_saved = steps_saved_ == steps_done_;
  const std::string before = !is_saved && std::filesystem::exists(path) ? data::read_file(path) : "";
  if (!is_saved) save();
  score_ = task_.score();
  if (score_ && !std::isfinite(score_->loss)) {
    if (!before.empty()) {
      write_file_atomically(path, before);
    } else if (is_recorded_) {
      std::filesystem::remove(path);
    }
    fail_diverged();
  }
}

void Trainer::keep_if_best() {
  const auto best = best_of(read_metrics(folder_.metrics()));
  if (best && best->step == steps_done_) link_or_copy(folder_.checkpoint(), folder_.best());
}

void Trainer::write_report(const StringPairs& results) {
  Report report(app_, task_.title());
  StringPairs highlights;
  if (steps_done_ > 0) highlights.emplace_back("steps", std::to_string(steps_done_));
  if (score_) {
    highlights.emplace_back("validation loss", short_number(score_->loss, 4));
    highlights.emplace_back("validation accuracy", short_number(score_->accuracy, 4));
  }
  const Metrics metrics = read_metrics(folder_.metrics());
  if (const auto best = best_of(metrics); best && best->step < steps_done_) {
    highlights.emplace_back(text("lowest validation loss, after step ", best->step), short_number(best->loss, 4));
  }
  highlights.insert(highlights.end(), results.begin(), results.end());
  report.highlights(highlights);

  if (steps_done_ > 0) add_curves(report, metrics);
  task_.report(report);
  report.section("Options");
  StringPairs settings = options_.values_in_use();
  std::erase_if(settings, [](const auto& option) { return option.second.empty(); });
  report.settings(settings);
  report.write(folder_.report());
}

void Trainer::fail_diverged() const {
  fail("training diverged: after step ", steps_done_,
       " the loss, a gradient or a weight is no longer a finite number; ",
       "what was saved before, if anything, is kept. Try a lower --learn-rate or a longer --lr-warmup");
}

}  // namespace reel::apps
