#include "apps/training/training_options.h"

#include <random>

#include "autograd/error.h"
#include "autograd/kernels/parallel.h"

namespace reel::apps {

std::int64_t RunLength::steps_for(std::int64_t examples) const {
  return examples / examples_per_step + (examples % examples_per_step > 0 ? 1 : 0);
}

void declare_batches(Options& o, TrainingConfig& c) {
  o.add(&c.batch_size, "b,batch-size", "N", "examples in a batch", at_least(1).and_at_most(1 << 20))
      .fixed(Fixed::in_run);
  o.add(&c.accumulate, "accumulate", "N", "batches that make one step, as if they were one large batch",
        at_least(1).and_at_most(1 << 20))
      .fixed(Fixed::in_run);
}

void declare_training(Options& o, TrainingConfig& c) {
  o.add_choice(&c.optimizer, "optimizer", {"adam", "adamw", "sgd"},
               "how gradients change the weights; adamw takes a --weight-decay, sgd has a momentum of 0.9");
  o.add(&c.learning_rate, "l,learn-rate", "RATE", "the highest learning rate", more_than(0));
  o.add(&c.beta1, "beta1", "B", "how slowly Adam forgets gradients", at_least(0).and_less_than(1))
      .only_for("optimizer", {"adam", "adamw"});
  o.add(&c.beta2, "beta2", "B", "how slowly Adam forgets squared gradients", at_least(0).and_less_than(1))
      .only_for("optimizer", {"adam", "adamw"});
  o.add_flag(&c.lazy_adam, "lazy-adam",
             "Adam does not touch the embeddings of tokens that a step has not read: faster with large vocabularies")
      .only_for("optimizer", {"adam", "adamw"});
  o.add(&c.weight_decay, "weight-decay", "RATE",
        "pull of the weights towards 0; of matrices only, not of biases and norms", at_least(0));
  o.add_choice(&c.schedule, "schedule", {"constant", "cosine", "wsd", "invsqrt"},
               "the learning rate after the warm-up: the same, half a cosine down to --min-lr, the same and then "
               "straight down to --min-lr, or falling with the root of the step");
  o.add(&c.lr_warmup, "lr-warmup", "N", "examples over which the rate rises to --learn-rate, rounded up to full steps",
        at_least(0));
  o.add(&c.min_lr, "min-lr", "RATE", "the rate that it falls towards", at_least(0))
      .only_for("schedule", {"cosine", "wsd"});
  o.add(&c.lr_decay, "lr-decay", "N",
        "examples at the end of the run over which the rate falls, rounded up to full steps", at_least(0))
      .only_for("schedule", {"wsd"});
  o.add(&c.gradient_clipping, "gradient-clipping", "NORM",
        "largest norm of all gradients together, which are scaled down to it; 0 for no clipping", at_least(0));
}

void declare_run(Options& o, TrainingConfig& c) {
  o.add(&c.seed, "r,random-seed", "N", "same seed, same run; a negative one takes a random seed").fixed(Fixed::in_run);
  o.add(&c.out, "o,out", "DIR", "folder for checkpoint.safetensors, best.safetensors, metrics.csv and the rest");
  o.add(&c.tb_dir, "T,tb_dir", "DIR", "folder for TensorBoard's event files; without it, that of --out");
  o.add(&c.from, "from", "RUN",
        "begin with the weights of a run, a folder or one of its checkpoints, and so with its model and its "
        "vocabulary; none of the data that validate here should be among those that it learnt from")
      .fixed(Fixed::in_run);
  o.add_flag(&c.resume, "resume",
             "go on with the run in --out, with its options except for those that are given again");
  add_threads(o, c.threads);
}

void add_threads(Options& options, std::int64_t& threads) {
  options.add(
      &threads, "threads", "N",
      "threads; 0 for as many as REEL_THREADS says, or as there are cores to use. The numbers do not depend on it",
      at_least(0).and_at_most(1024));
}

void use_threads(std::int64_t threads) {
  // Asked for even where that changes nothing: a REEL_THREADS that is no number is then refused before anything is
  // done.
  kernels::set_threads(threads > 0 ? static_cast<int>(threads) : kernels::threads());
}

namespace {

/// Whether the rate falls towards --min-lr, by the end of the run.
bool falls(const TrainingConfig& c) { return c.schedule == "cosine" || c.schedule == "wsd"; }

}  // namespace

void check_training(const TrainingConfig& c) {
  if (c.optimizer == "adamw" && c.weight_decay == 0) {
    throw UsageError("--optimizer adamw: without decay it is adam; say with --weight-decay how much, such as 0.01");
  }
  if (falls(c) && c.min_lr > c.learning_rate) {
    fail<UsageError>("--min-lr: ", c.min_lr, " is more than the --learn-rate of ", c.learning_rate);
  }
  if (c.schedule == "wsd" && c.lr_decay == 0) {
    throw UsageError("--schedule wsd: the rate would never fall; say with --lr-decay for how many examples it does");
  }
}

void check_schedule(const TrainingConfig& c, const RunLength& run) {
  if (!falls(c)) return;
  const std::int64_t warmup = run.steps_for(c.lr_warmup), decay = run.steps_for(c.lr_decay), left = run.steps - warmup;
  if (left <= 0) {
    fail<UsageError>("--lr-warmup: ", c.lr_warmup, " examples are ", warmup, " steps, and the run has ", run.steps,
                     "; --schedule ", c.schedule, " needs more after them: give a smaller --lr-warmup or a longer run");
  }
  if (c.schedule == "wsd" && decay == 1) {
    fail<UsageError>("--lr-decay: ", c.lr_decay, " examples are one step, within which the rate cannot fall; need two");
  }
  if (c.schedule == "wsd" && decay > left) {
    throw UsageError(text("--lr-decay: ", c.lr_decay, " examples are ", decay, " steps; after --lr-warmup, ", left,
                          " are left: give fewer"));
  }
}

optim::Schedule make_schedule(const TrainingConfig& c, const RunLength& run) {
  const std::int64_t warmup = run.steps_for(c.lr_warmup), left = run.steps - warmup;
  auto after_warmup = [&] {
    if (c.schedule == "constant") return optim::constant(c.learning_rate);
    if (c.schedule == "cosine") return optim::cosine(c.learning_rate, c.min_lr, left);
    if (c.schedule == "wsd") {
      return optim::stable_then_decay(c.learning_rate, c.min_lr, left, run.steps_for(c.lr_decay));
    }
    if (c.schedule == "invsqrt") return optim::inverse_sqrt(c.learning_rate, warmup);
    fail("make_schedule: no branch makes the schedule ", c.schedule);
  };
  return optim::warmup(warmup, after_warmup());
}

std::unique_ptr<optim::Optimizer> make_optimizer(const TrainingConfig& c, const nn::Module& model) {
  const auto groups = optim::decay_matrices_only(model.parameters(), c.weight_decay);
  const optim::AdamOptions adam{
      .learning_rate = c.learning_rate, .beta1 = c.beta1, .beta2 = c.beta2, .lazy = c.lazy_adam};
  if (c.optimizer == "sgd") {
    return std::make_unique<optim::SGD>(groups, optim::SGDOptions{.learning_rate = c.learning_rate, .momentum = 0.9});
  }
  if (c.optimizer == "adamw") return std::make_unique<optim::AdamW>(groups, adam);
  if (c.optimizer == "adam") return std::make_unique<optim::Adam>(groups, adam);
  fail("make_optimizer: no branch makes the optimizer ", c.optimizer);
}

Generator random_stream(std::int64_t seed, Stream stream) {
  Generator generator;
  generator.set_state({static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(stream) << 56});
  return generator;
}

void start_random(TrainingConfig& config) {
  if (config.seed < 0) config.seed = std::random_device{}();
  default_generator() = random_stream(config.seed, Stream::weights_and_dropout);
}

}  // namespace reel::apps
