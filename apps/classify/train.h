#pragma once
// classify train: from labelled texts to a model that labels others.

#include "apps/classify/config.h"

namespace reel::apps {

/// Trains as `config` says; `options` are those that filled it.
void train(Options& options, ClassifyConfig& config);

}  // namespace reel::apps
