#pragma once
// generate train: from a text to a model that writes like it.

#include "apps/generate/config.h"

namespace reel::apps {

/// Trains as `config` says; `options` are those that filled it.
void train(Options& options, GenerateConfig& config);

}  // namespace reel::apps
