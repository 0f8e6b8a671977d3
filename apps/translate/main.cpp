// translate: a model that translates sentences.

#include <iostream>

#include "apps/common/command.h"
#include "apps/common/texts.h"
#include "apps/training/config_of.h"
#include "apps/translate/corpus.h"
#include "apps/translate/evaluate.h"
#include "apps/translate/model.h"
#include "apps/translate/search.h"
#include "apps/translate/train.h"

namespace reel::apps {
namespace {

void declare_search(Options& o, SearchConfig& c) {
  o.add(&c.beam, "beam", "N",
        "beginnings that beam search keeps; 1 for greedy search: not as good, but quick enough for a whole test part",
        at_least(1).and_at_most(1000));
  o.add(&c.alpha, "length-penalty", "ALPHA", "how much longer translations are favoured by a beam of 2 or more",
        at_least(0).and_at_most(100));
}

void check_search(const Options& options, const SearchConfig& c) {
  if (c.beam == 1 && options.given("length-penalty")) {
    throw UsageError(
        "--length-penalty: only for a beam of 2 or more, not --beam 1, which is greedy search; leave it out, or say "
        "with --beam how many beginnings to keep");
  }
}

TrainedTranslator load(const std::string& folder) {
  const Checkpoint saved = load_run(folder, "translate");
  return restore_translator(saved, config_of<TranslateConfig>(saved));
}

struct EvalConfig {
  std::string from = "runs/translate";
  std::string data;
  SearchConfig search{.beam = 1};  // many sentences, and greedy search takes a batch of them at once
  std::int64_t threads = 0;
};

void declare_eval(Options& o, EvalConfig& c) {
  o.add(&c.from, "from", "RUN", "folder that train wrote, or one of its checkpoints");
  o.add(&c.data, "D,data", "DIR", "folder whose files test*.* are scored; without it, the one trained on");
  declare_search(o, c.search);
  add_threads(o, c.threads);
}

void eval(Options& options, EvalConfig& c) {
  check_search(options, c.search);
  use_threads(c.threads);
  const TrainedTranslator trained = load(c.from);
  for (const auto& [name, text] : read_tests(trained.config, c.data)) {
    score_part(trained, name, text, c.search, c.from);
  }
}

struct PredictConfig {
  std::string from = "runs/translate";
  std::vector<std::string> sentences;
  SearchConfig search{.beam = 5};  // a few sentences, to be read
  std::int64_t threads = 0;
};

void declare_predict(Options& o, PredictConfig& c) {
  o.add_arguments(&c.sentences, "SENTENCE",
                  "sentences to translate, after -- where one begins with -; without any, the lines of standard input, "
                  "where an empty one stays one");
  o.add(&c.from, "from", "RUN", "folder that train wrote, or one of its checkpoints");
  declare_search(o, c.search);
  add_threads(o, c.threads);
}

void predict(Options& options, PredictConfig& c) {
  check_search(options, c.search);
  use_threads(c.threads);
  const TrainedTranslator trained = load(c.from);
  const std::int64_t length = trained.config.length;
  answer_texts(c.sentences, "SENTENCE", std::cin, [&](const std::string& sentence) {
    if (!sentence.empty()) {
      data::CutTokens encoded = encode_sentence(sentence, trained.tokenizers->source, length);
      warn_of_text("translate predict", sentence, encoded, text("--max ", length, ", and cut there"));
      const std::vector<data::Tokens> one{std::move(encoded.tokens)};
      std::cout << translate_all(*trained.model, one, trained.tokenizers->target, length, c.search)[0];
    }
    std::cout << std::endl;
  });
}

}  // namespace
}  // namespace reel::apps

int main(int argc, char** argv) {
  using namespace reel::apps;
  return run_program({"translate",
                      "A model that translates sentences.",
                      {make_verb("train", "learn from sentence pairs", declare_train, train),
                       make_verb("eval", "perplexity and BLEU of the test parts", declare_eval, eval),
                       make_verb("predict", "translate sentences", declare_predict, predict)}},
                     argc, argv);
}
