#include "apps/training/begin_run.h"

#include <filesystem>
#include <system_error>

#include "apps/common/string_pairs.h"
#include "apps/training/folder_lock.h"
#include "autograd/error.h"

namespace reel::apps {
namespace {

/// The value in `kept` or, of an option that there was not yet, the one that changes nothing.
const std::string& value_before(const Options& options, const StringPairs& kept, const std::string& name) {
  const std::string* before = find(kept, name);
  return before ? *before : options.initial(name);
}

/// The first option, of those fixed at least this far, that was given another value than before.
std::optional<std::string> first_changed(const Options& options, const StringPairs& kept, Fixed at_least) {
  for (const auto& [name, value] : options.values()) {
    const bool matters = options.given(name) && options.is_fixed(name, at_least);
    if (matters && value != value_before(options, kept, name)) return name;
  }
  return std::nullopt;
}

/// What the run keeps of its options; those that are fixed at least so are put back.
StringPairs restored_options(const Checkpoint& run, Options& options, Fixed at_least) {
  return read_notes(run, [&] {
    const StringPairs kept = string_pairs_from(note(run, "options"));
    options.restore(kept, at_least);
    return kept;
  });
}

/// The run in the folder, to go on with. Puts its options back, except those given again.
Checkpoint resumed_run(const std::string& app, Options& options, const std::string& folder) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(folder, ignored)) {
    fail<UsageError>("--out: ", folder, " is a file; --resume goes on with the last checkpoint of a folder. To train ",
                     "this one further, begin a run --from it");
  }
  Checkpoint run = load_checkpoint(checkpoint_path(folder), app);
  const StringPairs kept = restored_options(run, options, Fixed::no);
  if (const auto name = first_changed(options, kept, Fixed::in_run)) {
    fail<UsageError>("--", *name, " cannot change within a run; leave it out with --resume, or start anew");
  }
  const std::string* data = find(kept, "data");
  if (data && !data->empty() && !options.given("data") &&
      std::filesystem::status(*data, ignored).type() == std::filesystem::file_type::not_found) {
    fail("the data that the run in ", folder, " began with are no longer at ", *data,
         "; say with --data where they are");
  }
  return run;
}

/// The run in the folder, or the checkpoint of that name, for a new one to begin with its weights.
Checkpoint run_with_weights(const std::string& app, Options& options, const std::string& folder) {
  Checkpoint run = load_run(folder, app);
  const StringPairs kept = restored_options(run, options, Fixed::with_weights);
  if (const auto name = first_changed(options, kept, Fixed::with_weights)) {
    fail<UsageError>("--", *name, ": the weights in ", folder, " were made with ",
                     options.as_arguments(*name, value_before(options, kept, *name)), "; leave it out with --from");
  }
  return run;
}

}  // namespace

std::optional<Checkpoint> begin_run(const std::string& app, Options& options, TrainingConfig& config,
                                    const StringPairs& defaults) {
  use_threads(config.threads);
  if (config.resume) return resumed_run(app, options, config.out);
  options.set_defaults(defaults);
  start_random(config);
  if (config.from.empty()) return std::nullopt;
  return run_with_weights(app, options, config.from);
}

void check_run(const Options& options, const TrainingConfig& config) {
  options.refuse_idle();
  check_training(config);
  const FolderLock no_other_run(config.out);  // let go again: the Trainer makes the folder, and locks it for the run
}

}  // namespace reel::apps
