// classify: a model that says which class a text is of.

#include <filesystem>
#include <iostream>
#include <optional>

#include "apps/classify/corpus.h"
#include "apps/classify/evaluate.h"
#include "apps/classify/model.h"
#include "apps/classify/train.h"
#include "apps/common/command.h"
#include "apps/common/numbers.h"
#include "apps/common/texts.h"

namespace reel::apps {
namespace {

TrainedClassifier load(const std::string& folder) {
  const auto path = checkpoint_path(folder);
  return restore_classifier(load_checkpoint(path, "classify"), path);
}

struct EvalConfig {
  std::string from = "runs/classify";
  std::string data;
  data::TableColumns columns{.label = "", .text = ""};
  std::int64_t batch_size = 64;
  std::int64_t threads = 0;
};

void declare_eval(Options& o, EvalConfig& c) {
  o.add(&c.from, "from", "DIR", "folder that train wrote");
  o.add(
      &c.data, "D,data", "PATH",
      "texts to score: the test part of a folder, a folder with a folder per class, or one table; without it, the test "
      "part of what it was trained on or, where that has none, the validation part");
  o.add(&c.columns.label, "label-column", "COLUMN",
        "of a table: its name, or its number from 1; without it, as in training");
  o.add(&c.columns.text, "text-column", "COLUMN", "the same for the text");
  o.add_flag(&c.columns.header, "header",
             "columns go by number, but the first row has their names; --no-header if it has not");
  o.add(&c.batch_size, "b,batch-size", "N", "texts read at once", at_least(1).and_at_most(1 << 20));
  add_threads(o, c.threads);
}

void eval(Options& options, EvalConfig& c) {
  use_threads(c.threads);
  TrainedClassifier trained = load(c.from);
  if (!c.data.empty()) trained.config.data = c.data;
  if (!c.columns.label.empty()) trained.config.columns.label = c.columns.label;
  if (!c.columns.text.empty()) trained.config.columns.text = c.columns.text;
  if (options.given("header")) trained.config.columns.header = c.columns.header;
  std::optional<data::LabelledText> part = read_classify_test(trained.config, trained.classes);
  const bool validation = !part && c.data.empty();
  if (validation) {
    part = train_and_validation(trained.config, read_classify_data(trained.config, trained.classes).train).rest;
  } else if (!part) {
    const std::filesystem::path path = c.data;
    if (std::filesystem::is_directory(path) && !std::filesystem::is_directory(path / trained.classes[0])) {
      fail(c.data, ": has neither a test part (test, test.tsv or test.csv) nor a folder per class");
    }
    part = data::read_labelled_part(c.data, trained.config.columns, trained.classes);
  }
  const EncodedTexts texts = encode(*part, *trained.tokenizer, trained.config);
  auto logits = [&](const Ids& tokens) { return trained.model->logits(tokens); };
  std::cout << (validation ? "validation " : "test ") << trained.config.model << "  "
            << line_of_texts(evaluate(*trained.model, logits, texts, c.batch_size)) << std::endl;
}

struct PredictConfig {
  std::string from = "runs/classify";
  std::vector<std::string> texts;
  std::int64_t threads = 0;
};

void declare_predict(Options& o, PredictConfig& c) {
  o.add_arguments(&c.texts, "TEXT", "texts to classify; without any, the lines of standard input that are not empty");
  o.add(&c.from, "from", "DIR", "folder that train wrote");
  add_threads(o, c.threads);
}

void predict(Options&, PredictConfig& c) {
  use_threads(c.threads);
  const TrainedClassifier trained = load(c.from);
  answer_texts(c.texts, "TEXT", std::cin, [&](const std::string& text) {
    if (text.empty()) return;
    const Guess guess = best_guess(*trained.model, encode(text, *trained.tokenizer, trained.config));
    std::cout << trained.classes[guess.label] << '\t' << fixed(guess.probability, 4) << '\t' << text << std::endl;
  });
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
