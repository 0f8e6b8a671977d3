// classify: a model that says which class a text is of.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "apps/classify/model.h"
#include "apps/classify/train.h"
#include "apps/common/command.h"
#include "apps/common/trainer.h"
#include "autograd/error.h"
#include "data/utf8.h"

namespace reel::apps {
namespace {

TrainedClassifier load(const std::string& folder) {
  const auto path = checkpoint_path(folder);
  TrainedClassifier trained = restore_classifier(load_checkpoint(path, "classify"), path);
  trained.model->eval();
  return trained;
}

struct EvalConfig {
  std::string from = "runs/classify";
  std::string data;
  std::int64_t batch_size = 64;
  std::int64_t threads = 0;
};

void declare_eval(Options& o, EvalConfig& c) {
  o.add(&c.from, "from", Options::no_letter, "DIR", "folder that train wrote");
  o.add(&c.data, "data", 'D', "PATH",
        "texts to score: the test part of a folder, or one table; without it, the test part of what it was trained on "
        "or, where that has none, the validation part");
  o.add(&c.batch_size, "batch-size", 'b', "N", "texts read at once", at_least(1).and_at_most(1 << 20));
  add_threads(o, c.threads);
}

void eval(Options&, EvalConfig& c) {
  use_threads(c.threads);
  TrainedClassifier trained = load(c.from);
  if (!c.data.empty()) trained.config.data = c.data;
  const data::LabelledData data = read_classify_data(trained.config, trained.classes);
  const bool validation = !data.test && c.data.empty();
  const data::LabelledText part = data.test    ? *data.test
                                  : validation ? train_and_validation(trained.config, data.train).rest
                                               : data.train;
  const EncodedTexts texts = encode(part, *trained.tokenizer, trained.config);
  std::cout << (validation ? "validation " : "test ") << trained.config.model << "  "
            << to_string(
                   evaluate([&](const Ids& tokens) { return trained.model->logits(tokens); }, texts, c.batch_size))
            << std::endl;
}

struct PredictConfig {
  std::string from = "runs/classify";
  std::vector<std::string> texts;
  std::int64_t threads = 0;
};

void declare_predict(Options& o, PredictConfig& c) {
  o.add_arguments(&c.texts, "TEXT", "texts to classify; without any, the lines of standard input that are not empty");
  o.add(&c.from, "from", Options::no_letter, "DIR", "folder that train wrote");
  add_threads(o, c.threads);
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

void check_utf8(const std::string& text, const std::string& where) {
  if (data::replace_invalid_utf8(text) != text) fail(where, ": is not UTF-8");
}

void predict(Options&, PredictConfig& c) {
  use_threads(c.threads);
  for (std::size_t i = 0; i < c.texts.size(); ++i) {
    const std::string where = text("TEXT ", i + 1);
    if (is_blank(c.texts[i])) throw UsageError(where + " is empty");
    check_utf8(c.texts[i], where);
  }
  TrainedClassifier trained = load(c.from);
  auto print = [&](const std::string& text) {
    const std::vector<data::Tokens> tokens{encode(text, *trained.tokenizer, trained.config)};
    constexpr std::int64_t row = 0;
    const std::vector<double> log_probs = trained.model->log_probs(data::pad(tokens, {&row, 1}).ids).to_vector();
    const auto best = std::max_element(log_probs.begin(), log_probs.end()) - log_probs.begin();
    char probability[32];
    std::snprintf(probability, sizeof probability, "%.4f", std::exp(log_probs[static_cast<std::size_t>(best)]));
    std::cout << trained.classes[static_cast<std::size_t>(best)] << '\t' << probability << '\t' << text << std::endl;
  };
  for (const std::string& text : c.texts) print(text);
  if (!c.texts.empty()) return;
  std::string line;
  for (std::int64_t number = 1; std::getline(std::cin, line); ++number) {
    check_utf8(line, text("standard input, line ", number));
    if (!is_blank(line)) print(line);
  }
}

}  // namespace
}  // namespace reel::apps

int main(int argc, char** argv) {
  using namespace reel::apps;
  return run_program({"classify",
                      "A model that says which class a text is of.",
                      {make_verb("train", "learn from labelled texts", declare_classify, train_classifier),
                       make_verb("eval", "score a trained model on a test part", declare_eval, eval),
                       make_verb("predict", "label texts", declare_predict, predict)}},
                     argc, argv);
}
