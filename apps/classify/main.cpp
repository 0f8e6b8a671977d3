// classify: a model that says which class a text is of.

#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "apps/classify/corpus.h"
#include "apps/classify/evaluate.h"
#include "apps/classify/model.h"
#include "apps/classify/train.h"
#include "apps/common/command.h"
#include "apps/common/numbers.h"
#include "apps/common/texts.h"
#include "apps/common/words.h"
#include "apps/training/config_of.h"
#include "apps/training/score.h"
#include "data/file.h"
#include "data/printable.h"

namespace reel::apps {
namespace {

struct EvalConfig {
  std::string from = "runs/classify";
  std::string data;
  data::TableColumns columns{.label = "", .text = ""};
  std::int64_t batch_size = scoring_batch;
  std::int64_t threads = 0;
};

void declare_eval(Options& o, EvalConfig& c) {
  o.add(&c.from, "from", "RUN", "folder that train wrote, or one of its checkpoints");
  o.add(
      &c.data, "D,data", "PATH",
      "texts to score: the test part of a folder, a folder with a folder per class, or one table; without it, the test "
      "part of what it was trained on or, where that has none and is still the same, the validation part");
  o.add(&c.columns.label, "label-column", "COLUMN",
        "of a table: its name, or its number from 1; without it, as in training");
  o.add(&c.columns.text, "text-column", "COLUMN", "the same for the text");
  o.add_flag(&c.columns.header, "header",
             "columns go by number, but the first row has their names; --no-header if it has not");
  o.add(&c.batch_size, "b,batch-size", "N", "texts read at once", at_least(1).and_at_most(1 << 20));
  add_threads(o, c.threads);
}

/// What a run has set aside: of the same data as then, since others would be cut in another way.
EncodedTexts validation_part(const Checkpoint& saved, const TrainedClassifier& trained, const std::string& from) {
  LabelledCorpus corpus = read_labelled_corpus(trained.config, trained.classes, trained.tokenizer);
  check_learnt_from(saved, fingerprint(corpus), trained.config.data, from);
  return std::move(corpus.scored);
}

/// Texts that are no test part: of one table, or of a folder with a folder per class.
data::LabelledText read_other_part(const std::filesystem::path& path, const TrainedClassifier& trained) {
  if (std::filesystem::is_directory(path) && !std::filesystem::is_directory(path / trained.classes[0])) {
    fail(path.string(), ": has neither a test part (test, test.tsv or test.csv) nor a folder per class");
  }
  return data::read_labelled_part(path, trained.config.columns, trained.classes);
}

/// Whether what lies at `path` is the training part of `data`, or all of it.
bool is_training_part(const std::filesystem::path& path, const std::filesystem::path& data) {
  std::error_code ignored;
  const std::filesystem::path full = std::filesystem::weakly_canonical(path, ignored);
  return data::is_same_file(full, data) ||
         (data::has_name(full.stem(), "train") && data::is_same_file(full.parent_path(), data));
}

struct Part {
  std::string name;
  EncodedTexts texts;
};

/// The test part of the data; other texts as a whole; or what the run has set aside. `learnt` is what it was trained
/// on.
Part part_to_score(const Checkpoint& saved, const TrainedClassifier& trained, const EvalConfig& c,
                   const std::string& learnt) {
  auto encoded = [&](const data::LabelledText& texts) { return encode(texts, *trained.tokenizer, trained.config); };
  if (const auto test = read_classify_test(trained.config, trained.classes)) return {"test", encoded(*test)};
  if (!c.data.empty()) {
    EncodedTexts texts = encoded(read_other_part(c.data, trained));
    if (is_training_part(c.data, learnt)) {
      std::cerr << "classify eval: " << data::printable(c.from) << " was trained on " << data::printable(c.data)
                << ", which is scored as a whole: much of it the model may have learnt" << std::endl;
    }
    return {data::printable(c.data), std::move(texts)};
  }
  if (trained.config.final_run) {
    fail(learnt, " no longer has the test part that the run was scored on; put it back, or name one with --data");
  }
  return {"validation", validation_part(saved, trained, c.from)};
}

void eval(Options& options, EvalConfig& c) {
  use_threads(c.threads);
  const Checkpoint saved = load_run(c.from, "classify");
  ClassifyConfig config = config_of<ClassifyConfig>(saved);
  const std::string learnt = config.data;
  if (!c.data.empty()) config.data = c.data;
  if (!c.columns.label.empty()) config.columns.label = c.columns.label;
  if (!c.columns.text.empty()) config.columns.text = c.columns.text;
  if (options.given("header")) config.columns.header = c.columns.header;
  check_columns(options, config.columns, c.data, "only with --data; without it, texts are read as in training");
  const TrainedClassifier trained = restore_classifier(saved, config);
  const Part part = part_to_score(saved, trained, c, learnt);
  const Score score = evaluate(*trained.model, part.texts, c.batch_size);
  check_finite(score, c.from);
  std::cout << part.name << ' ' << config.model << "  " << line_of_texts(score)
            << note_of_cuts(part.texts.cut, config.length) << std::endl;
}

struct PredictConfig {
  std::string from = "runs/classify";
  std::vector<std::string> texts;
  std::int64_t threads = 0;
};

void declare_predict(Options& o, PredictConfig& c) {
  o.add_arguments(&c.texts, "TEXT",
                  "texts to classify, after -- where one begins with -; without any, the lines of standard input that "
                  "are not empty");
  o.add(&c.from, "from", "RUN", "folder that train wrote, or one of its checkpoints");
  add_threads(o, c.threads);
}

void predict(Options&, PredictConfig& c) {
  use_threads(c.threads);
  const Checkpoint saved = load_run(c.from, "classify");
  const TrainedClassifier trained = restore_classifier(saved, config_of<ClassifyConfig>(saved));
  answer_texts(c.texts, "TEXT", std::cin, [&](const std::string& text) {
    if (text.empty()) return;
    const data::CutTokens encoded = encode(text, *trained.tokenizer, trained.config);
    const ClassifyConfig& config = trained.config;
    warn_of_text("classify predict", text, encoded,
                 reel::text("--max ", config.length, "; only its ", config.keep, " is read"));
    const Guess guess = best_guess(*trained.model, encoded.tokens);
    std::cout << trained.classes[guess.label] << '\t' << fixed(guess.probability, 4) << '\t' << on_one_line(text)
              << std::endl;
  });
}

}  // namespace
}  // namespace reel::apps

int main(int argc, char** argv) {
  using namespace reel::apps;
  return run_program({"classify",
                      "A model that says which class a text is of.",
                      {make_verb("train", "learn from labelled texts", declare_train, train),
                       make_verb("eval", "score a trained model on a test part", declare_eval, eval),
                       make_verb("predict", "label texts", declare_predict, predict)}},
                     argc, argv);
}
