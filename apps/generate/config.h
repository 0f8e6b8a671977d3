#pragma once
// What can be chosen when a model is trained to write.

#include <cstdint>
#include <string>

#include "apps/common/string_pairs.h"
#include "apps/training/training_options.h"

namespace reel::apps {

struct GenerateConfig {
  // data
  std::string data;  // empty for the built-in corpus
  std::string tokenizer = "char";
  double split = 0.9;
  bool final_run = false;

  // model
  std::string model = "gtransformer";
  std::int64_t context = 256;
  std::int64_t embedding = 128;
  std::int64_t heads = 8;
  std::int64_t depth = 12;
  std::string norm = "post";
  std::string activation = "relu";
  std::int64_t order = 6;
  double dropout = 0;

  // training and output
  std::int64_t steps = 1'000'000;
  std::int64_t test_every = 1500;
  std::int64_t validation_tokens = 0;  // 0 for all
  std::int64_t sample_length = 600;
  TrainingConfig training{.out = "runs/generate"};

  bool counts() const { return model == "ngram"; }  // instead of learning by gradients
};

void declare_train(Options& options, GenerateConfig& config);

/// What is the default instead where no data is named and the model does not count: half a minute of training is enough
/// for Reel's own source.
const StringPairs& source_defaults();

}  // namespace reel::apps
