#pragma once
// What a program has trained, back from a checkpoint.

#include "apps/common/options.h"
#include "apps/training/checkpoint.h"
#include "autograd/error.h"

namespace reel::apps {

/// A Trained whose `config` has the options of the run; read(trained) takes the rest from the checkpoint. Throws,
/// naming the file, if something is missing or does not fit.
template <class Trained, class Read>
Trained restored(const Checkpoint& saved, const Read& read) {
  try {
    Trained trained;
    Options options;
    declare_train(options, trained.config);
    options.restore(string_pairs_from(note(saved, "options")));
    read(trained);
    return trained;
  } catch (const Error& error) {
    fail(saved.path.string(), " does not fit: ", error.what());
  }
}

}  // namespace reel::apps
