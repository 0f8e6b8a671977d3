#pragma once
// classify train: from labelled texts to a model that labels others.

#include "apps/classify/config.h"

namespace reel::apps {

/// Trains as `config` says; `options` are those that filled it.
void train_classifier(Options& options, ClassifyConfig& config);

/// The data of config.data, or the built-in reviews; with the classes of a checkpoint, or those that occur.
data::LabelledData read_classify_data(const ClassifyConfig& config, const std::vector<std::string>& classes = {});

/// The training part cut in two by config.split, in the same way for the same seed: what trains, and what validates.
data::Split<data::LabelledText> train_and_validation(const ClassifyConfig& config, const data::LabelledText& train);

}  // namespace reel::apps
