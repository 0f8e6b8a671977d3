#pragma once
// The training loop that all programs share: steps, progress, metrics, checkpoints, Ctrl-C and going on.
//
// A program brings a Task: a model, the loss of its next batch, a way to score it. The Trainer does the rest, and
// leaves in the output folder what a run leaves.

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/checkpoint.h"
#include "apps/common/metrics.h"
#include "apps/common/report.h"
#include "apps/common/tensorboard.h"
#include "apps/common/training_options.h"
#include "autograd/json.h"
#include "nn/module.h"

namespace reel::apps {

/// A number that validation found: its column in metrics.csv, and its name and value for TensorBoard.
struct Measure {
  std::string column;
  double value;
  std::string tag;
  double tag_value;
};

class Task {
 public:
  virtual ~Task() = default;

  virtual const nn::Module& model() const = 0;

  struct BatchLoss {
    Tensor mean;  // what is differentiated
    std::int64_t tokens;
  };
  /// The loss of the next batch, computed while a tape records.
  virtual BatchLoss next_loss() = 0;
  /// TensorBoard's name of that loss, and what it is multiplied by for it.
  virtual Measure train_loss(double loss) const = 0;

  /// The columns that score() fills.
  virtual std::vector<std::string> score_columns() const = 0;
  /// Scores the validation part.
  virtual std::vector<Measure> score() = 0;
  /// Prints that score, and whatever shows what the model can do: `when` says after which step. Before the first step
  /// there is no score.
  virtual void show(const std::string& when, bool scored) = 0;

  /// What the run is about, as a line for its report; and what the report shows beside curves and options: samples,
  /// predictions, attention maps.
  virtual std::string title() const { return {}; }
  virtual void report(Report&) {}

  /// What has to be kept beside weights and optimizer: vocabulary, place in the data.
  virtual Json::Object notes() const = 0;
};

/// For --resume: puts the options of a saved run back, except those given anew. Throws UsageError if one of `fixed` was
/// given another value: what shapes the model or its data cannot change half-way.
void restore_options(Options& options, const Checkpoint& saved, std::span<const std::string_view> fixed);

class Trainer {
 public:
  /// A run of `steps` steps, or none for a model that takes no steps. `app` is how the program calls itself, `options`
  /// is what a checkpoint keeps of them.
  Trainer(std::string app, const Options& options, const TrainingConfig& config, Task& task, std::int64_t steps,
          std::int64_t test_every);

  /// Goes on where `saved` was, whose weights the model has already. Throws UsageError if no steps are left.
  void go_on(const Checkpoint& saved);

  /// All steps that are left; false if an interrupt ended them early. Either way the last one is saved.
  bool run();

  std::int64_t steps_done() const { return steps_done_; }
  /// For a model that takes no steps: saves it.
  void save_without_steps();

 private:
  double step(std::int64_t& tokens);
  void record(double loss, std::span<const Measure> score);
  void take_folder();
  void save();
  void write_report(std::span<const Measure> score);
  [[noreturn]] void fail_diverged() const;

  std::string app_;
  const Options& options_;
  TrainingConfig config_;
  Task& task_;
  std::int64_t steps_, test_every_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::int64_t steps_done_ = 0;
  double gradient_norm_ = 0;
  std::optional<MetricsFile> metrics_;  // once the folder is this run's own
  std::optional<EventFile> events_;
};

}  // namespace reel::apps
