#pragma once
// The options of a training run that are the same whatever is trained: how it learns, and where its results go.

#include <cstdint>
#include <memory>
#include <string>

#include "apps/common/options.h"
#include "autograd/random.h"
#include "nn/module.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace reel::apps {

struct TrainingConfig {
  std::int64_t batch_size = 32;
  std::int64_t accumulate = 1;  // batches of a step
  std::string optimizer = "adam";
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  bool lazy_adam = false;
  double weight_decay = 0;
  std::string schedule = "constant";
  std::int64_t lr_warmup = 5000;  // examples
  double min_lr = 0;
  std::int64_t lr_decay = 0;     // examples
  double gradient_clipping = 1;  // the largest norm of all gradients together; 0 for no limit
  std::int64_t seed = 1;         // a negative one asks for a random one

  std::string from{};  // a run whose weights this one begins with; empty for random ones
  std::string out{};
  std::string tb_dir{};  // empty for `out`
  bool resume = false;
  std::int64_t threads = 0;  // 0 for as many as REEL_THREADS says, or cores there are to use
};

/// How long a run is. --lr-warmup and --lr-decay count examples: they are as many steps as it takes, each counted as a
/// full one.
struct RunLength {
  std::int64_t steps;
  std::int64_t examples_per_step;  // one with an epoch's last batch may have fewer

  std::int64_t steps_for(std::int64_t examples) const;
};

/// Each declares a group of options, under the section that is open: how many examples a step takes (fixed in a run,
/// whose epochs and schedule count such steps); how the model learns from them; and the run as a whole.
void declare_batches(Options& options, TrainingConfig& config);
void declare_training(Options& options, TrainingConfig& config);
void declare_run(Options& options, TrainingConfig& config);

/// Adds --threads and, to be called when options are parsed, obeys it.
void add_threads(Options& options, std::int64_t& threads);
void use_threads(std::int64_t threads);

/// Throws UsageError for options that do not go together, such as adamw without a weight decay, however long the run
/// is.
void check_training(const TrainingConfig& config);
/// Throws UsageError for a schedule that does not fit into the run.
void check_schedule(const TrainingConfig& config, const RunLength& run);
optim::Schedule make_schedule(const TrainingConfig& config, const RunLength& run);
std::unique_ptr<optim::Optimizer> make_optimizer(const TrainingConfig& config, const nn::Module& model);

/// A generator for one purpose, so far from the others of the same seed that they never overlap.
enum class Stream : std::uint64_t { weights_and_dropout, batches, samples_and_splits };
Generator random_stream(std::int64_t seed, Stream stream);
/// config.seed, or a random one in its place if that is negative; starts weights and dropout from it.
void start_random(TrainingConfig& config);

}  // namespace reel::apps
