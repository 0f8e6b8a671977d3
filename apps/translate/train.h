#pragma once
// translate train: from sentence pairs to a model that translates.

#include "apps/translate/config.h"
#include "data/parallel_text.h"

namespace reel::apps {

/// Trains as `config` says; `options` are those that filled it.
void train_translator(Options& options, TranslateConfig& config);

/// The data of config.data, or the built-in sentences.
data::ParallelData read_translate_data(const TranslateConfig& config);

}  // namespace reel::apps
