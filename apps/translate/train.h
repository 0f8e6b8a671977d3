#pragma once
// translate train: from sentence pairs to a model that translates.

#include <map>
#include <string>

#include "apps/translate/config.h"
#include "data/parallel_text.h"

namespace reel::apps {

/// Trains as `config` says; `options` are those that filled it.
void train_translator(Options& options, TranslateConfig& config);

/// The test parts of `folder` or, if that is empty, of the data that the model was trained on.
std::map<std::string, data::ParallelText> read_tests(const TranslateConfig& config, const std::string& folder);

}  // namespace reel::apps
