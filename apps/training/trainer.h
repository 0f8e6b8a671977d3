#pragma once
// The training loop that all programs share: steps, progress, metrics, checkpoints, Ctrl-C and going on.
//
// A program brings a Task: a model, the loss of its next batch, a way to score it. The Trainer does the rest, and
// leaves in the output folder what a run leaves.

#include <memory>
#include <optional>
#include <string>

#include "apps/common/string_pairs.h"
#include "apps/report/report.h"
#include "apps/training/checkpoint.h"
#include "apps/training/metrics.h"
#include "apps/training/plan.h"
#include "apps/training/progress.h"
#include "apps/training/run_folder.h"
#include "apps/training/score.h"
#include "apps/training/tensorboard.h"
#include "apps/training/training_options.h"
#include "autograd/json.h"
#include "nn/module.h"

namespace reel::apps {

class Task {
 public:
  Task() = default;
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  virtual const nn::Module& model() const = 0;
  /// Lines that say what is trained on what; the last one without its end.
  virtual std::string introduction() const = 0;
  /// Whether it is a transformer whose layer norms come after the residuals: one that needs a warm-up.
  virtual bool is_post_norm() const = 0;

  struct BatchLoss {
    Tensor mean;          // what is differentiated
    std::int64_t tokens;  // in which its speed is told; a translator's are those of the targets
    Hits hits;
  };
  /// The loss of the next batch, computed while a tape records.
  virtual BatchLoss next_loss() = 0;
  /// Scores the validation part, if there is one.
  virtual std::optional<Score> score() = 0;
  /// Prints that score, and whatever shows what the model can do: `when` says after which step. There is no score
  /// before the first step, nor when a resumed run with steps left shows again what it had reached.
  virtual void show(const std::string& when, const std::optional<Score>& score) = 0;
  /// After the last step, and its score: prints what the run came to, and returns it for the report.
  virtual StringPairs finish(const std::optional<Score>& score) = 0;

  /// Prefix of TensorBoard's tags: "translation/train-loss".
  virtual std::string topic() const = 0;
  /// What the run is about, as a line for its report; and what the report shows beside curves and options: samples,
  /// predictions, attention maps.
  virtual std::string title() const = 0;
  virtual void report(Report& report) = 0;

  /// A number that tells the data from others: all that it learns from and is validated on (fingerprint.h).
  virtual std::uint32_t fingerprint() const = 0;
  /// What has to be kept beside weights and optimizer: vocabulary, place in the data, what it has shown.
  virtual Json::Object notes() const = 0;
  /// Goes back to what `saved` has of it in its notes.
  virtual void restore(const Checkpoint& saved) = 0;
};

/// Whenever a run is killed after its first save, --resume goes on as if it had not been. What a step leaves, in this
/// order:
///
///     the first step    a checkpoint, which takes the folder over from an earlier run; then metrics.csv, begun anew
///     one scored        a checkpoint, a row in metrics.csv, the best checkpoint if it is that, what is shown, a report
///     any other         a row
///
/// So rows may be ahead of the checkpoint: they are dropped, and their steps are taken again (resume). A checkpoint may
/// be ahead of its row, which is then written before the next step, with a new score where one is due
/// (show_where_it_stands). And it may stand beside the rows of an earlier run, which are not its own (has_own_metrics).
class Trainer {
 public:
  /// `app` is how the program calls itself; a checkpoint keeps `options`, all but those that say where and how it is
  /// run. Throws if another run is writing into the folder.
  Trainer(std::string app, const Options& options, const TrainingConfig& config, Task& task, Plan plan);

  /// Takes all steps, or with --resume those that are left after `saved`, and finishes; or stops early at an interrupt.
  /// Saves either way. The model has the weights of `saved`, if there is one, already. Throws UsageError if the
  /// optimizer cannot go on with what is saved of it, and Error if the data have changed or another version wrote it.
  void run(std::optional<Checkpoint> saved = {});

 private:
  struct Step {
    ScoreSum sum{};
    double gradient_norm = 0;
    double learning_rate = 0;
  };

  void resume(const Checkpoint& saved);
  void load_optimizer(const Checkpoint& saved);
  bool has_own_metrics() const;
  void introduce() const;
  /// Opens the event files and shows what the run has reached; ends the interval that was cut off, if one was.
  void show_where_it_stands();
  /// False if an interrupt ended them early.
  bool take_steps();
  /// Takes one and returns how many tokens it read.
  std::int64_t step();
  bool is_scored() const { return steps_done_ >= plan_.steps || steps_done_ % plan_.test_every == 0; }
  /// After a step that is scored: scores, records, shows and reports.
  void end_interval();
  /// After any other step: records it; if that fails, saves before the error goes on.
  void record_or_save();
  /// What a model does that takes no steps.
  void count();
  void record();
  /// The first save of a new run, and the first lines of its files.
  void claim_folder();
  void begin_files();
  void save();
  void save_and_score();
  /// If the last step is the first with the lowest validation loss in metrics.csv, its checkpoint stays as
  /// best.safetensors.
  void keep_if_best();
  void write_report(const StringPairs& results = {});
  [[noreturn]] void fail_diverged() const;

  std::string app_;
  const Options& options_;
  TrainingConfig config_;
  Task& task_;
  Plan plan_;
  std::uint32_t fingerprint_;  // of the data
  RunFolder folder_;
  std::unique_ptr<optim::Optimizer> optimizer_;  // none for a run without steps
  std::int64_t steps_done_ = 0, steps_saved_ = 0;
  bool options_are_saved_ = true;  // not those that were given anew to a resumed run, until it saves
  Step last_;                      // the step taken last
  bool is_recorded_ = true;        // whether metrics.csv has it: not if the run was killed before, and goes on now
  ScoreSum since_score_;           // all steps of the interval that is not over
  ScoreSum interval_score_;        // those of the one that the last step ended
  std::optional<Score> score_;     // the latest; none after a step that is not scored
  std::optional<Progress> progress_;
  std::optional<MetricsFile> metrics_;  // once the folder is this run's own
  std::optional<EventFile> events_;
};

}  // namespace reel::apps
