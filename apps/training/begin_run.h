#pragma once
// How a run begins: anew, with the weights of another, or where it has stopped.

#include <optional>
#include <string>

#include "apps/common/options.h"
#include "apps/training/checkpoint.h"
#include "apps/training/training_options.h"

namespace reel::apps {

/// What each run of `app` begins with. It obeys --threads. With --resume, it puts back the options of the checkpoint in
/// --out, except those that were given again, and returns it. Otherwise it draws the seed if that is negative, and sets
/// `defaults` for what was not given; with --from, it also puts back what the weights in that folder depend on
/// (Fixed::with_weights), and returns the checkpoint in there. Throws UsageError if an option that is fixed was given
/// another value.
std::optional<Checkpoint> begin_run(const std::string& app, Options& options, TrainingConfig& config,
                                    const StringPairs& defaults = {});

/// To be called before the data are read, which may take long: throws UsageError if an option means nothing beside the
/// others, or does not go together with them, and Error if another run is writing into --out.
void check_run(const Options& options, const TrainingConfig& config);

}  // namespace reel::apps
