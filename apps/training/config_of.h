#pragma once
// The options that a program's model was trained with, back from a checkpoint.

#include "apps/common/options.h"
#include "apps/training/checkpoint.h"

namespace reel::apps {

/// Those that the program's own declare_train(options, config) declares. Throws, naming the file, if one is missing or
/// does not fit.
template <class Config>
Config config_of(const Checkpoint& saved) {
  return read_notes(saved, [&] {
    Config config;
    Options options;
    declare_train(options, config);
    options.restore(string_pairs_from(note(saved, "options")));
    return config;
  });
}

}  // namespace reel::apps
