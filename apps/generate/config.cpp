#include "apps/generate/config.h"

#include "autograd/kernels/parallel.h"

namespace reel::apps {

void declare_train(Options& o, GenerateConfig& c) {
  o.section("Data");
  o.add(&c.data, "data", 'D', "FILE", "text to learn from, UTF-8; without it, Reel's own source");
  o.add_choice(&c.tokenizer, "tokenizer", Options::no_letter, {"char", "byte"}, "what a token is");
  o.add(&c.split, "split", Options::no_letter, "SHARE", "share of the text that trains; what follows validates",
        more_than(0).and_less_than(1));
  o.add_flag(&c.final_run, "final", 'f', "cut what validates in two, and test on the second half once, at the end");

  o.section("Model");
  o.add_choice(&c.model, "model", Options::no_letter, {"gtransformer", "naive", "conv", "ngram"},
               "which model; all learn by gradients but ngram, which counts");
  o.add(&c.context, "context", 'C', "N", "tokens that a prediction may look back on", at_least(1).and_at_most(1 << 20));
  o.add(&c.embedding, "embedding", 'E', "N", "width of the embeddings", at_least(1).and_at_most(1 << 16));
  o.add(&c.heads, "heads", 'H', "N", "attention heads, each as wide as the embedding (gtransformer)",
        at_least(1).and_at_most(1 << 10));
  o.add(&c.depth, "depth", 'd', "N", "blocks on top of each other", at_least(1).and_at_most(1 << 10));
  o.add(&c.order, "order", Options::no_letter, "N", "tokens that are counted together with the next (ngram)",
        at_least(0).and_at_most(64));
  o.add(&c.dropout, "dropout", Options::no_letter, "P", "probability of dropping an activation in training",
        at_least(0).and_less_than(1));

  o.section("Training");
  o.add(&c.num_batches, "num-batches", 'N', "N", "steps; Ctrl-C ends earlier and saves", at_least(1));
  o.add(&c.batch_size, "batch-size", 'b', "N", "texts in a batch", at_least(1).and_at_most(1 << 20));
  o.add(&c.accumulate, "accumulate", Options::no_letter, "N", "batches whose gradients are averaged for one step",
        at_least(1).and_at_most(1 << 20));
  o.add_choice(&c.optimizer, "optimizer", Options::no_letter, {"adam", "adamw", "sgd"},
               "how gradients change the weights; sgd has a momentum of 0.9");
  o.add(&c.learn_rate, "learn-rate", 'l', "RATE", "the highest learning rate", more_than(0));
  o.add(&c.beta2, "beta2", Options::no_letter, "B", "how slowly Adam forgets squared gradients",
        at_least(0).and_less_than(1));
  o.add(&c.weight_decay, "weight-decay", Options::no_letter, "RATE",
        "pull of the weights towards 0; of matrices only, not of biases and norms", at_least(0));
  o.add_choice(&c.schedule, "schedule", Options::no_letter, {"constant", "cosine", "invsqrt"},
               "the learning rate after the warm-up: the same, half a cosine down to --min-lr, or falling with the "
               "root of the step");
  o.add(&c.lr_warmup, "lr-warmup", Options::no_letter, "N", "examples seen until the learning rate is reached",
        at_least(0));
  o.add(&c.min_lr, "min-lr", Options::no_letter, "RATE", "where the cosine ends", at_least(0));
  o.add(&c.gradient_clipping, "gradient-clipping", Options::no_letter, "NORM",
        "largest norm of all gradients together; they are scaled down to it", more_than(0));
  o.add(&c.seed, "random-seed", 'r', "N", "same seed, same run; a negative one takes a random seed");

  o.section("Output");
  o.add(&c.out, "out", 'o', "DIR", "folder for checkpoint.safetensors and metrics.csv");
  o.add(&c.tb_dir, "tb_dir", 'T', "DIR", "folder for TensorBoard's event files; without it, that of --out");
  o.add_flag(&c.resume, "resume", Options::no_letter,
             "go on with the run in --out, with its options except for those given anew");
  o.add(&c.test_every, "test-every", Options::no_letter, "N", "steps between validation, sample and checkpoint",
        at_least(1));
  o.add(&c.sample_length, "sample-length", Options::no_letter, "N", "tokens of a sample", at_least(0));
  add_threads(o, c.threads);
}

void add_threads(Options& options, std::int64_t& threads) {
  options.add(&threads, "threads", Options::no_letter, "N",
              "threads; 0 for one a core. The numbers do not depend on it", at_least(0).and_at_most(1024));
}

void use_threads(std::int64_t threads) {
  if (threads > 0) kernels::set_threads(static_cast<int>(threads));
}

}  // namespace reel::apps
