// translate: a model that translates sentences.

#include <iostream>

#include "apps/common/command.h"
#include "apps/translate/model.h"
#include "apps/translate/train.h"
#include "autograd/error.h"
#include "data/utf8.h"

namespace reel::apps {
namespace {

struct SearchConfig {
  std::int64_t beam = 1;
  double alpha = 0.6;
};

void declare_search(Options& o, SearchConfig& c) {
  o.add(&c.beam, "beam", Options::no_letter, "N", "beginnings that beam search keeps; 1 for greedy search",
        at_least(1).and_at_most(1000));
  o.add(&c.alpha, "length-penalty", Options::no_letter, "ALPHA",
        "how much longer translations are favoured by the beam", at_least(0));
}

TrainedTranslator load(const std::string& folder) {
  const auto path = checkpoint_path(folder);
  return restore_translator(load_checkpoint(path, "translate"), path);
}

struct EvalConfig {
  std::string from = "runs/translate";
  std::string data;
  SearchConfig search;
  std::int64_t threads = 0;
};

void declare_eval(Options& o, EvalConfig& c) {
  o.add(&c.from, "from", Options::no_letter, "DIR", "folder that train wrote");
  o.add(&c.data, "data", 'D', "DIR",
        "folder of train, val and test files whose test parts are scored; without it, the one trained on");
  declare_search(o, c.search);
  add_threads(o, c.threads);
}

void eval(Options&, EvalConfig& c) {
  use_threads(c.threads);
  TrainedTranslator trained = load(c.from);
  if (!c.data.empty()) trained.config.data = c.data;
  for (const auto& [name, text] : read_translate_data(trained.config).tests) {
    const EncodedPairs pairs = encode_pairs(text, *trained.source, *trained.target, trained.config.length);
    std::cout << name << ' ' << to_string(evaluate(*trained.model, pairs, 64)) << std::endl;
    const auto translations =
        translate_all(*trained.model, pairs, *trained.target, c.search.beam, c.search.alpha, trained.config.length);
    std::cout << name << ' ' << bleu_line(translations, text, *trained.target, c.search.beam) << std::endl;
  }
}

struct PredictConfig {
  std::string from = "runs/translate";
  std::vector<std::string> sentences;
  SearchConfig search{.beam = 5};
  std::int64_t threads = 0;
};

void declare_predict(Options& o, PredictConfig& c) {
  o.add_arguments(&c.sentences, "SENTENCE",
                  "sentences to translate; without any, the lines of standard input, where an empty one stays one");
  o.add(&c.from, "from", Options::no_letter, "DIR", "folder that train wrote");
  declare_search(o, c.search);
  add_threads(o, c.threads);
}

bool is_blank(const std::string& sentence) { return sentence.find_first_not_of(" \t\r\n") == sentence.npos; }

void check_utf8(const std::string& sentence, const std::string& where) {
  if (data::replace_invalid_utf8(sentence) != sentence) fail(where, ": is not UTF-8");
}

void predict(Options&, PredictConfig& c) {
  use_threads(c.threads);
  for (std::size_t i = 0; i < c.sentences.size(); ++i) {
    const std::string where = text("SENTENCE ", i + 1);
    if (is_blank(c.sentences[i])) throw UsageError(where + " is empty");
    check_utf8(c.sentences[i], where);
  }
  TrainedTranslator trained = load(c.from);
  auto print = [&](const std::string& sentence) {
    const EncodedPairs one{{encode_sentence(sentence, *trained.source, trained.config.length)}, {}};
    std::cout << translate_all(*trained.model, one, *trained.target, c.search.beam, c.search.alpha,
                               trained.config.length)[0]
              << std::endl;
  };
  for (const std::string& sentence : c.sentences) print(sentence);
  if (!c.sentences.empty()) return;
  std::string line;
  for (std::int64_t number = 1; std::getline(std::cin, line); ++number) {
    check_utf8(line, text("standard input, line ", number));
    if (is_blank(line)) {
      std::cout << std::endl;
    } else {
      print(line);
    }
  }
}

}  // namespace
}  // namespace reel::apps

int main(int argc, char** argv) {
  using namespace reel::apps;
  return run_program({"translate",
                      "A model that translates sentences.",
                      {make_verb("train", "learn from sentence pairs", declare_translate, train_translator),
                       make_verb("eval", "perplexity and BLEU of the test parts", declare_eval, eval),
                       make_verb("predict", "translate sentences", declare_predict, predict)}},
                     argc, argv);
}
