#pragma once
// What can be chosen when a model is trained to write.

#include <cstdint>
#include <string>

#include "apps/common/options.h"

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
  std::int64_t order = 6;
  double dropout = 0;

  // training
  std::int64_t num_batches = 1'000'000;
  std::int64_t batch_size = 32;
  std::int64_t accumulate = 1;
  std::string optimizer = "adam";
  double learn_rate = 1e-4;
  double beta2 = 0.999;
  double weight_decay = 0;
  std::string schedule = "constant";
  std::int64_t lr_warmup = 5000;
  double min_lr = 0;
  double gradient_clipping = 1;
  std::int64_t seed = 1;

  // output
  std::string out = "runs/generate";
  std::string tb_dir;  // empty for `out`
  bool resume = false;
  std::int64_t test_every = 1500;
  std::int64_t sample_length = 600;
  std::int64_t threads = 0;  // 0 for one a core

  bool counts() const { return model == "ngram"; }  // instead of learning by gradients
};

void declare_train(Options& options, GenerateConfig& config);

/// Adds --threads and, to be called when options are parsed, obeys it.
void add_threads(Options& options, std::int64_t& threads);
void use_threads(std::int64_t threads);

}  // namespace reel::apps
