#pragma once
// translate train: from sentence pairs to a model that translates.

#include "apps/translate/config.h"

namespace reel::apps {

/// Trains as `config` says; `options` are those that filled it.
void train(Options& options, TranslateConfig& config);

}  // namespace reel::apps
