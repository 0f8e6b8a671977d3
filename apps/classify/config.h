#pragma once
// What can be chosen when a model is trained to classify.

#include <cstdint>
#include <string>

#include "apps/common/string_pairs.h"
#include "apps/training/training_options.h"
#include "data/labelled_text.h"

namespace reel::apps {

struct ClassifyConfig {
  // data
  std::string data;  // empty for the built-in reviews
  data::TableColumns columns;
  double split = 0.9;
  bool final_run = false;
  std::int64_t vocabulary = 50'000;
  std::int64_t minimum_count = 1;
  bool cased = false;
  bool punctuation = true;
  std::int64_t length = 512;
  std::string keep = "start";

  // model
  std::string model = "ctransformer";
  bool max_pool = false;
  bool mask_padding = false;
  std::int64_t embedding = 128;
  double embedding_deviation = 1;
  std::string positions = "normal";
  std::int64_t heads = 8;
  std::int64_t depth = 6;
  std::int64_t hidden = 0;
  std::string norm = "post";
  std::string activation = "relu";
  double dropout = 0;

  // training
  std::int64_t epochs = 80;
  double word_dropout = 0;
  TrainingConfig training{.batch_size = 4, .learning_rate = 1e-4, .lr_warmup = 10'000, .out = "runs/classify"};
};

void declare_train(Options& options, ClassifyConfig& config);
/// Throws UsageError if columns are given for data without a table, for this reason where no data is named, or if the
/// header is denied that names them.
void check_columns(const Options& options, const data::TableColumns& columns, const std::string& data,
                   const std::string& reason_without_data);

/// What is the default instead where no data is named: enough for the built-in reviews.
const StringPairs& review_defaults();

}  // namespace reel::apps
