// generate: a model that learns to write.

#include <iostream>
#include <random>

#include "apps/common/command.h"
#include "apps/common/interrupt.h"
#include "apps/generate/corpus.h"
#include "apps/generate/evaluate.h"
#include "apps/generate/model.h"
#include "apps/generate/train.h"
#include "apps/generate/write.h"
#include "apps/training/config_of.h"
#include "apps/training/training_options.h"
#include "autograd/error.h"
#include "data/file.h"
#include "data/printable.h"

namespace reel::apps {
namespace {

struct EvalConfig {
  std::string from = "runs/generate";
  std::string data;
  bool final_run = false;
  std::int64_t batch_size = 32;
  std::int64_t threads = 0;
};

void declare_eval(Options& o, EvalConfig& c) {
  o.add(&c.from, "from", "RUN", "folder that train wrote, or one of its checkpoints");
  o.add(&c.data, "D,data", "FILE",
        "another text, to score as a whole; of the one trained on, as without this, only what validates is scored");
  o.add_flag(&c.final_run, "f,final", "score the test part of a run that was trained with --final");
  o.add(&c.batch_size, "b,batch-size", "N", "windows read at once", at_least(1).and_at_most(1 << 20));
  add_threads(o, c.threads);
}

struct Part {
  std::string name;
  data::Tokens tokens;
};

/// Of the text that the run learnt from, what it did not learn; another text as a whole.
Part part_to_score(const Checkpoint& saved, TrainedModel& trained, const EvalConfig& c) {
  GenerateConfig config = trained.config;
  if (c.final_run && !config.final_run) {
    fail<UsageError>("--final: ", c.from, " was trained without it, and so has no part set aside for a test");
  }
  if (!c.data.empty()) config.data = c.data;
  Corpus corpus = read_corpus(config, std::move(trained.tokenizer), c.data.empty() ? Role::learnt : Role::to_score);
  const std::uint32_t data = fingerprint(corpus);
  if (c.data.empty()) check_learnt_from(saved, data, config.data, c.from);
  if (learnt_from(saved, data)) {
    return c.final_run ? Part{"test", std::move(corpus.test)} : Part{"validation", std::move(corpus.validation)};
  }
  if (c.final_run) {
    fail<UsageError>("--final: ", c.data, " is not the text that ", c.from,
                     " learnt from, and is scored as a whole; leave it out");
  }
  if (data::is_same_file(c.data, trained.config.data)) {
    std::cerr << "generate eval: " << data::printable(c.data) << " has changed since " << data::printable(c.from)
              << " was trained, and is scored as a whole: much of it the model may have learnt" << std::endl;
  }
  return {data::printable(c.data), whole(corpus)};
}

void eval(Options&, EvalConfig& c) {
  use_threads(c.threads);
  const Checkpoint saved = load_run(c.from, "generate");
  TrainedModel trained = restore_model(saved, config_of<GenerateConfig>(saved));
  const Part part = part_to_score(saved, trained, c);
  const Score score = evaluate(*trained.model, part.tokens, c.batch_size, part.name);
  check_finite(score, c.from);
  std::cout << part.name << ' ' << line_of_tokens(score) << std::endl;
}

struct SampleConfig {
  std::string from = "runs/generate";
  std::string prompt;
  std::int64_t length = 600;
  std::int64_t samples = 1;
  nn::Sampling sampling;
  std::int64_t seed = 1;
  std::int64_t threads = 0;
};

void declare_sample(Options& o, SampleConfig& c) {
  o.add(&c.from, "from", "RUN", "folder that train wrote, or one of its checkpoints");
  o.add(&c.prompt, "p,prompt", "TEXT",
        "what the model goes on from; without it, a line break, or the first token where the vocabulary has none");
  o.add(&c.length, "n,sample-length", "N", "tokens to write", at_least(0));
  o.add(&c.samples, "samples", "N", "texts to write, each from the prompt on", at_least(1));
  o.add(&c.sampling.temperature, "t,temperature", "T",
        "below 1 safer than the model's own distribution, above 1 wilder; 0 always takes the most probable",
        at_least(0));
  o.add(&c.sampling.top_k, "top-k", "K", "draw from the K most probable only; 0 for all", at_least(0));
  o.add(&c.sampling.top_p, "top-p", "P", "draw from the most probable only, as many as reach this probability",
        more_than(0).and_at_most(1));
  o.add(&c.seed, "r,random-seed", "N", "same seed, same text; a negative one asks for a random one");
  add_threads(o, c.threads);
}

data::Tokens encode_prompt(const data::Tokenizer& tokenizer, const std::string& prompt) {
  try {
    return tokenizer.encode(prompt);
  } catch (const Error& error) {
    fail("--prompt: ", error.what());
  }
}

void sample(Options& options, SampleConfig& c) {
  use_threads(c.threads);
  const bool prompted = options.given("prompt");
  const Checkpoint saved = load_run(c.from, "generate");
  TrainedModel trained = restore_model(saved, config_of<GenerateConfig>(saved));
  const data::Tokenizer& tokenizer = *trained.tokenizer;
  const auto prompt = prompted ? encode_prompt(tokenizer, c.prompt) : default_prompt(tokenizer);
  Generator generator(c.seed < 0 ? std::random_device{}() : static_cast<std::uint64_t>(c.seed));
  watch_interrupts();
  for (std::int64_t i = 0; i < c.samples && !interrupted(); ++i) {
    std::cout << (i > 0 ? "---\n" : "") << c.prompt;
    print_text(std::cout, *trained.model, tokenizer, prompt, c.length, c.sampling, generator);
    std::cout << std::endl;
  }
}

}  // namespace
}  // namespace reel::apps

int main(int argc, char** argv) {
  using namespace reel::apps;
  return run_program({"generate",
                      "A model that learns to write.",
                      {make_verb("train", "learn from a text", declare_train, train),
                       make_verb("eval", "score a trained model on what validates or tests it, or on another text",
                                 declare_eval, eval),
                       make_verb("sample", "let a trained model write", declare_sample, sample)}},
                     argc, argv);
}
