#pragma once
// What a program has trained, back from a checkpoint.

#include "apps/common/options.h"
#include "apps/training/checkpoint.h"

namespace reel::apps {

/// A Trained whose `config` has the options of the run, which the program's own `declare_train(options, config)`
/// declares; read(trained) takes the rest from the checkpoint. Throws, naming the file, if something is missing or does
/// not fit.
template <class Trained, class Read>
Trained restored(const Checkpoint& saved, const Read& read) {
  return read_notes(saved, [&] {
    Trained trained;
    Options options;
    declare_train(options, trained.config);
    options.restore(string_pairs_from(note(saved, "options")));
    read(trained);
    return trained;
  });
}

}  // namespace reel::apps
