#pragma once
// What can be chosen when a model is trained to translate.

#include <cstdint>
#include <string>

#include "apps/common/string_pairs.h"
#include "apps/training/training_options.h"

namespace reel::apps {

struct TranslateConfig {
  // data
  std::string data;  // empty for the built-in sentences
  std::string source = "de";
  std::string target = "en";
  std::int64_t vocabulary = 50'000;
  std::int64_t minimum_count = 2;
  bool cased = false;
  std::int64_t length = 100;

  // model
  std::string model = "transformer";
  std::int64_t embedding = 256;
  std::int64_t heads = 8;
  std::int64_t depth = 3;
  std::int64_t hidden = 512;
  double dropout = 0.1;
  std::string positions = "sinusoidal";
  std::string norm = "post";
  bool norm_embeddings = true;
  bool tie = false;

  // training
  std::int64_t epochs = 10;
  double label_smoothing = 0;
  std::string batches = "random";
  bool final_run = false;
  TrainingConfig training{
      .batch_size = 128, .learning_rate = 5e-4, .schedule = "invsqrt", .lr_warmup = 50'000, .out = "runs/translate"};
};

void declare_train(Options& options, TranslateConfig& config);

/// What is the default instead where no data is named: enough for the built-in sentences.
const StringPairs& sentence_defaults();

}  // namespace reel::apps
