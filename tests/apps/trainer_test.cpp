// What all programs that train have in common: a run, from its first line to what it leaves, repeats itself to the last
// bit, can be interrupted and resumed, and keeps what was there.

#include "apps/training/trainer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <regex>
#include <sstream>
#include <thread>

#include "apps/classify/model.h"
#include "apps/common/numbers.h"
#include "apps/generate/model.h"
#include "apps/training/metrics_reader.h"
#include "apps/training/tensorboard.h"
#include "apps/translate/model.h"
#include "autograd/creation.h"
#include "nn/layers.h"
#include "tests/apps/html_checker.h"
#include "tests/apps/tiny_texts.h"

using namespace reel::apps;
namespace fs = std::filesystem;

namespace {

const char* any_program() { return GENERATE("generate", "classify", "translate"); }

/// The bytes of the event file in a run's folder.
std::string events(const TinyTexts& here, const std::string& run) {
  for (const auto& entry : fs::directory_iterator(here / run)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) return read_file(entry.path());
  }
  return "";
}

/// The steps from which on event files in a run's folder say that they hold it, in order.
std::vector<int> starts(const TinyTexts& here, const std::string& run) {
  std::vector<int> steps;
  for (const auto& entry : fs::directory_iterator(here / run)) {
    if (!entry.path().filename().string().starts_with("events.out.tfevents.")) continue;
    const std::string content = read_file(entry.path());
    for (int step = 0; step < 10; ++step) {
      if (content.find(start_event(0, step).substr(9)) != content.npos) steps.push_back(step);
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// The lines that say what training came to since the last score.
std::vector<std::string> training_lines(const std::string& out) {
  std::istringstream stream(out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("after step ") && line.find("  train loss ") != line.npos) lines.push_back(line);
  }
  return lines;
}

/// A run that is interrupted while it writes its first sample; its stdout is in out.txt.
void interrupt_first_sample(const TinyTexts& here, const std::string& out = "--out run") {
  const Outcome stopped =
      here.shell("\"$bin/generate\" " + TinyTexts::tiny_model("generate") + "--sample-length 1000000000 " + out +
                 " >out.txt & until grep -q parameters "
                 "out.txt; do kill -0 $! || exit 99; done; kill -INT $!; wait $!");
  REQUIRE(stopped.status == 130);
}

}  // namespace

TEST_CASE("the schedule counts examples", "[trainer]") {
  const TrainingConfig config{.learning_rate = 1, .schedule = "wsd", .lr_warmup = 7, .min_lr = 0.1, .lr_decay = 40};
  const reel::optim::Schedule rate = make_schedule(config, {.steps = 22, .examples_per_step = 4});
  CHECK(rate(0) == Approx(1.0 / 3));  // 7 examples are two steps, 40 are ten
  CHECK(rate(2) == 1);
  CHECK(rate(12) == 1);
  CHECK(rate(17) == Approx(0.55));
  CHECK(rate(22) == Approx(0.1));
}

TEST_CASE("a name without a branch trains nothing else in its place", "[trainer]") {
  CHECK_THROWS_WITH(make_schedule({.schedule = "new"}, {.steps = 1, .examples_per_step = 1}),
                    "make_schedule: no branch makes the schedule new");
  CHECK_THROWS_WITH(make_optimizer({.optimizer = "new"}, reel::nn::Linear(1, 1)),
                    "make_optimizer: no branch makes the optimizer new");
  GenerateConfig generates;
  ClassifyConfig classifies;
  TranslateConfig translates;
  generates.model = classifies.model = translates.model = "new";
  CHECK_THROWS_WITH(make_model(generates, 5, {}), "make_model: no branch makes the model new");
  CHECK_THROWS_WITH(make_classifier(classifies, 5, 2), "make_classifier: no branch makes the model new");
  const auto words = reel::data::WordTokenizer::train(std::vector<std::string>{"a"});
  CHECK_THROWS_WITH(make_translator(translates, {words, words}), "make_translator: no branch makes the model new");
}

TEST_CASE("a batch larger than the data does not stretch the warm-up", "[trainer]") {
  TinyTexts here;  // 54 texts to learn from, one batch of an epoch
  const std::string options = " -e 4 --schedule wsd --lr-warmup 54 --lr-decay 108 -l 0.01 --out ";
  here.must_train("classify", "-b 54" + options + "right");
  here.must_train("classify", "-b 1000" + options + "large");
  here.must_train("classify", "-b 9 --accumulate 100" + options + "accumulated");
  auto rates = [&](const std::string& run) {
    std::istringstream file(here.metrics(run));
    std::string all;
    for (std::string row; std::getline(file, row);) {
      std::istringstream columns(row);
      for (int i = 0; i < 4; ++i) std::getline(columns, row, ',');
      all += row + ' ';
    }
    return all;
  };
  CHECK(rates("large") == rates("right"));
  CHECK(rates("accumulated") == rates("right"));
  CHECK(rates("right") == "learn_rate 0.005 0.01 0.01 0.005 ");
}

TEST_CASE("a run leaves its numbers in metrics.csv", "[trainer]") {
  const auto& [program, options, steps, scored] = GENERATE(
      table<std::string, std::string, int, int>({{"generate", "-N 20 --test-every 8", 20, 8},  // and the last one
                                                 {"classify", "", 14, 7},               // 54 texts are 7 batches of 8
                                                 {"classify", "--accumulate 2", 8, 4},  //
                                                 {"translate", "", 16, 8}}));           // 60 pairs are 8 batches of 8
  CAPTURE(program, options);
  TinyTexts here;
  const Outcome trained = here.must_train(program, options + " --out run");
  std::istringstream file(here.metrics("run"));
  std::string row;
  std::getline(file, row);
  CHECK(row == "step,loss,accuracy,learn_rate,gradient_norm,validation_loss,validation_accuracy");
  for (int step = 1; step <= steps; ++step) {
    REQUIRE(std::getline(file, row));
    CHECK(row.starts_with(std::to_string(step) + ","));
    const bool is_scored = step % scored == 0 || step == steps;
    CHECK(row.ends_with(",,") == !is_scored);
    CHECK(is_scored == (trained.out.find("after step " + std::to_string(step) + "  train loss ") != std::string::npos));
  }
  CHECK_FALSE(std::getline(file, row));
}

TEST_CASE("what training shows is the mean of all texts since the last score", "[trainer]") {
  TinyTexts here;
  const Outcome trained = here.must_train("classify", "-e 1 -b 50 --out run");  // of 54, in either order
  std::istringstream file(here.metrics("run"));
  std::string row;
  std::getline(file, row);
  double losses[2];
  for (double& loss : losses) {
    std::getline(file, row);
    loss = std::stod(row.substr(row.find(',') + 1));
  }
  std::smatch shown;
  REQUIRE(std::regex_search(
      trained.out, shown,
      std::regex(R"(after step 2  train loss (\d\.\d{4}) nats  accuracy ([01]\.\d{4})  learning rate 0\.01\n)")));
  auto mean = [&](int first, int second) { return (first * losses[0] + second * losses[1]) / 54; };
  REQUIRE(std::abs(mean(50, 4) - mean(4, 50)) > 1e-3);
  const double loss = std::stod(shown[1]);
  CHECK((loss == Approx(mean(50, 4)).margin(1e-4) || loss == Approx(mean(4, 50)).margin(1e-4)));
  const double right = std::stod(shown[2]) * 54;
  CHECK(right == Approx(std::round(right)).margin(0.01));
}

TEST_CASE("the batches of training do not change a score of texts", "[trainer]") {
  const std::string program = GENERATE("classify", "translate");
  TinyTexts here;
  auto validation_loss = [&](const std::string& batch) {  // of steps too small to change a weight
    here.must_train(program, "--optimizer sgd -l 1e-30 -e 1 --out run -b " + batch);
    return read_metrics(here / "run/metrics.csv").at("validation_loss").back().y;
  };
  const double loss = validation_loss("12");
  for (const char* batch : {"3", "5", "7"}) CHECK(validation_loss(batch) == loss);
}

TEST_CASE("event files show what metrics.csv has", "[trainer]") {
  const auto& [program, name] = GENERATE(table<std::string, std::string>(
      {{"generate", "generation"}, {"classify", "classification"}, {"translate", "translation"}}));
  TinyTexts here;
  here.must_train(program, "--out run");
  const std::string recorded = events(here, "run");
  auto metrics = read_metrics(here / "run/metrics.csv");
  for (const auto& [tag, column] : {std::pair(name + "/train-loss", "loss"),
                                    {name + "/train-accuracy", "accuracy"},
                                    {name + "/validation-loss", "validation_loss"},
                                    {name + "/validation-accuracy", "validation_accuracy"},
                                    {"training/learn-rate", "learn_rate"}}) {
    CAPTURE(tag);
    const Point last = metrics.at(column).back();
    const std::string event = scalar_event(0, static_cast<std::int64_t>(last.x), tag, static_cast<float>(last.y));
    CHECK(recorded.find(event.substr(9)) != recorded.npos);  // after the time
  }
  here.must_train(program, "--out other --tb_dir board");
  CHECK(events(here, "other").empty());
  CHECK(events(here, "board").size() == recorded.size());
}

TEST_CASE("the same seed gives the same bits with any number of threads", "[trainer]") {
  const auto& [program, options] = GENERATE(
      table<std::string, std::string>({{"generate", ""},
                                       {"generate", "-b 16 -C 64 -E 64 -N 3"},  // whose loops are worth threads
                                       {"generate", "--model naive --accumulate 3 --optimizer sgd --dropout 0.2"},
                                       {"generate", "--model conv --optimizer adamw --weight-decay 0.1 --dropout 0.1"},
                                       {"generate", "--model ngram"},
                                       {"classify", "--dropout 0.2 --accumulate 2"},
                                       {"classify", "--max-pool --mask-padding --optimizer adamw --weight-decay 0.01"},
                                       {"classify", "--mask-padding --word-dropout 0.3 --no-punctuation --lazy-adam"},
                                       {"translate", "--dropout 0.2 --accumulate 2"},
                                       {"translate", "--positions learned --label-smoothing 0.1 --batches bucketed"},
                                       {"translate", "--model rnn --dropout 0.2"}}));
  CAPTURE(program, options);
  TinyTexts here;
  here.must_train(program, options + " --threads 1 --out run");
  for (const char* threads : {"1", "2", "3"}) {
    here.must_train(program, options + " --out again --threads " + threads);
    CHECK(here.checkpoint("again") == here.checkpoint("run"));
    CHECK(here.metrics("again") == here.metrics("run"));
  }
  if (options == "--model ngram") return;
  here.must_train(program, options + " --out other -r 2");
  CHECK(here.metrics("other") != here.metrics("run"));
}

TEST_CASE("batches are drawn from other random numbers than weights and dropout", "[trainer]") {
  const std::string program = any_program();
  TinyTexts here;
  here.must_train(program, "-r 7 --out run");
  const Checkpoint saved = load_checkpoint(here / "run/checkpoint.safetensors", program);
  const auto drawn = generator_state_from(note(saved, "random"));
  const auto batches = program == "generate" ? generator_state_from(note(saved, "batches"))
                                             : sampler_state_from(note(saved, "order")).generator;
  CHECK(drawn.seed == 7);
  CHECK(batches.seed == 7);
  const auto start = random_stream(7, Stream::batches).state().position;
  CHECK(drawn.position < start);
  CHECK(batches.position >= start);
  CHECK(batches.position < random_stream(7, Stream::samples_and_splits).state().position);
}

TEST_CASE("a run in two parts is the run in one", "[trainer]") {
  const auto& [program, options, half, whole] = GENERATE(table<std::string, std::string, std::string, std::string>(
      {{"generate", "--accumulate 2 --test-every 10", "-N 20", "-N 40"},
       {"classify", "--accumulate 2", "-e 1", "-e 2"},
       {"classify", "--word-dropout 0.3 --no-punctuation --embedding-deviation 0.1 --positions sinusoidal", "-e 1",
        "-e 2"},
       {"translate", "--lazy-adam --optimizer adamw --weight-decay 0.01", "-e 1", "-e 2"},
       {"translate", "--accumulate 2 --schedule constant", "-e 1", "-e 2"},
       {"translate", "--label-smoothing 0.1 --batches bucketed --no-embedding-norm", "-e 1", "-e 2"},
       {"translate", "--model rnn", "-e 1", "-e 2"}}));
  CAPTURE(program, options);
  TinyTexts here;
  const Outcome all = here.must_train(program, options + " --dropout 0.2 --out whole " + whole);
  here.must_train(program, options + " --dropout 0.2 --out parts " + half);
  const Outcome second = here.run(program, "train --resume --out parts " + whole);
  INFO(second.err);
  REQUIRE(second.status == 0);
  CHECK_THAT(second.out, ContainsSubstring(", resumed after step ") && !ContainsSubstring("before training"));
  const std::vector<std::string> lines = training_lines(second.out);
  REQUIRE(!lines.empty());
  for (const std::string& line : lines) CHECK_THAT(all.out, ContainsSubstring(line + "\n"));
  CHECK(here.checkpoint("parts") == here.checkpoint("whole"));
  CHECK(here.metrics("parts") == here.metrics("whole"));
  CHECK(read_file(here / "parts/best.safetensors") == read_file(here / "whole/best.safetensors"));
}

TEST_CASE("a run made longer between two scores shows what one run would", "[trainer]") {
  TinyTexts here;
  const Outcome whole = here.must_train("generate", "--test-every 10 -N 20 --out whole");
  here.must_train("generate", "--test-every 10 -N 15 --out parts");
  const Outcome second = here.must_train("generate", "--test-every 10 -N 20 --out parts --resume");
  REQUIRE(training_lines(second.out).size() == 1);
  CHECK(training_lines(second.out)[0] == training_lines(whole.out)[1]);
  CHECK(here.checkpoint("parts") == here.checkpoint("whole"));
}

TEST_CASE("a resumed run's report has the samples of the whole run", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--test-every 10 -N 40 --out whole");
  const std::string half = GENERATE("-N 20", "-N 25");  // where the whole run writes a sample, and where it does not
  here.must_train("generate", "--test-every 10 --out parts " + half);
  here.must_train("generate", "--test-every 10 -N 40 --out parts --resume");
  auto samples = [&](const std::string& run) {
    const std::string report = here.report(run);
    const std::size_t begin = report.find("<h2>Samples</h2>");
    REQUIRE(begin != report.npos);
    return report.substr(begin, report.find("<h2>", begin + 1) - begin);
  };
  CHECK(count_of("class='sample'", samples("whole")) == 5);
  CHECK(samples("parts") == samples("whole"));
  CHECK(here.checkpoint("parts") == here.checkpoint("whole"));
}

TEST_CASE("lazy Adam takes other steps, from the second on", "[trainer]") {
  TinyTexts here;
  here.must_train("translate", "-e 1 --out exact");
  here.must_train("translate", "-e 1 --lazy-adam --out lazy");
  const std::string exact = here.metrics("exact"), lazy = here.metrics("lazy");
  const auto lines = [](const std::string& rows, int count) {
    std::size_t end = 0;
    for (int i = 0; i < count; ++i) end = rows.find('\n', end) + 1;
    return rows.substr(0, end);
  };
  CHECK(lines(lazy, 3) == lines(exact, 3));  // the names, and the loss before the first step and after it
  CHECK(lazy != exact);
}

TEST_CASE("beta1 is how slowly Adam forgets gradients", "[trainer]") {
  const std::string optimizer = GENERATE("", "--optimizer adamw --weight-decay 0.01 ");
  TinyTexts here;
  auto metrics_of = [&](const std::string& options) {
    here.must_train("generate", optimizer + "--out run " + options);
    return here.metrics("run");
  };
  const std::string usual = metrics_of("");
  CHECK(metrics_of("--beta1 0.9") == usual);
  CHECK(metrics_of("--beta1 0.5") != usual);
}

TEST_CASE("gradients are clipped, unless their limit is 0", "[trainer]") {
  const std::string program = any_program();
  TinyTexts here;
  auto metrics_of = [&](const std::string& limit) {
    here.must_train(program, "--optimizer sgd --out run --gradient-clipping " + limit);
    return here.metrics("run");
  };
  const std::string unclipped = metrics_of("0");
  CHECK(unclipped == metrics_of("1e30"));
  CHECK(unclipped != metrics_of("1e-3"));
}

TEST_CASE("an interrupted run goes on as if nothing had been", "[trainer]") {
  const auto& [program, length, signal] =
      GENERATE(table<std::string, std::string, std::string>({{"generate", "-N 2000 --test-every 100", "INT"},
                                                             {"generate", "-N 2000 --test-every 100", "TERM"},
                                                             {"classify", "-e 300", "INT"},
                                                             {"translate", "-e 200", "INT"}}));
  CAPTURE(program, signal);
  TinyTexts here;
  const std::string options = length + " --schedule cosine --optimizer adamw --weight-decay 0.01 --dropout 0.1 ";
  const Outcome whole = here.must_train(program, options + "--out whole");
  const Outcome stopped =
      here.shell("\"$bin/" + program + "\" " + TinyTexts::tiny_model(program) + options +
                 "--out 'two parts' & "
                 "until [ -e 'two parts/metrics.csv' ] && [ $(wc -l <'two parts/metrics.csv') -gt 30 ]; "
                 "do kill -0 $! || exit 99; done; kill -" +
                 signal + " $!; wait $!");
  CHECK(stopped.status == (signal == "INT" ? 130 : 143));
  CHECK_THAT(stopped.last_line_of_out(),
             ContainsSubstring("Stopped after step ") &&
                 ContainsSubstring("saved. To go on: " + program + " train --resume --out 'two parts'"));
  CHECK(count_lines(here.metrics("two parts")) > 30);
  const std::string steps = std::to_string(count_lines(here.metrics("two parts")) - 1);
  CHECK_THAT(here.report("two parts"), ContainsSubstring("<dt>steps</dt><dd>" + steps + "</dd>"));
  CHECK(here.checkpoint("two parts") != here.checkpoint("whole"));

  // As one does it: the same line once more, with --resume.
  const Outcome rest = here.must_train(program, options + "--out 'two parts' --resume");
  const std::vector<std::string> lines = training_lines(rest.out);
  REQUIRE(!lines.empty());
  for (const std::string& line : lines) {
    if (whole.out.find(line + "\n") == whole.out.npos) FAIL("the whole run printed no line " << line);
  }
  CHECK(here.checkpoint("two parts") == here.checkpoint("whole"));
  CHECK(here.metrics("two parts") == here.metrics("whole"));
}

TEST_CASE("a sample that an interrupt cuts short is no sample", "[trainer]") {
  TinyTexts here;
  interrupt_first_sample(here);
  CHECK_THAT(read_file(here / "out.txt"), ContainsSubstring("\nStopped after step 0 of 20 and saved. "));
  CHECK(count_of("class='sample'", here.report("run")) == 0);
  here.must_train("generate", "--out run --resume");
  CHECK(count_of("class='sample'", here.report("run")) == 2);
  here.must_train("generate", "--out whole");
  CHECK(here.checkpoint("run") == here.checkpoint("whole"));
  CHECK(here.metrics("run") == here.metrics("whole"));
}

TEST_CASE("a run that was made longer and stopped at once goes on to its new length", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "-N 4 --test-every 2 --out run");
  const Outcome stopped = here.shell(
      "\"$bin/generate\" train --resume -N 8 -l 2e-2 --sample-length 1000000000 --out run >out.txt & until grep -q "
      "parameters out.txt; do kill -0 $! || exit 99; done; kill -INT $!; wait $!");
  REQUIRE(stopped.status == 130);
  CHECK_THAT(read_file(here / "out.txt"), ContainsSubstring("\nStopped after step 4 of 8 and saved. "));
  const Outcome done = here.run("generate", "train --resume --sample-length 10 --out run");
  CHECK(done.status == 0);
  CHECK_THAT(done.out, ContainsSubstring("after step 8  train ") && ContainsSubstring("learning rate 0.02\n"));
}

TEST_CASE("a model that counted says when an interrupt cut its sample short", "[trainer]") {
  TinyTexts here;
  const Outcome stopped = here.shell("\"$bin/generate\" " + TinyTexts::tiny_model("generate", "--model ngram") +
                                     "--model ngram --sample-length 1000000000 --out run >out.txt & until grep -q "
                                     "ngram out.txt; do kill -0 $! || exit 99; done; kill -INT $!; wait $!");
  CHECK(stopped.status == 130);
  CHECK_THAT(read_file(here / "out.txt"), ContainsSubstring("\n--- cut short: the report leaves it out\n") &&
                                              ContainsSubstring("\nsaved run/checkpoint.safetensors\n"));
  CHECK(count_of("class='sample'", here.report("run")) == 0);
}

TEST_CASE("what a stopped run says to go on with is a command, whatever its folder is called", "[trainer]") {
  TinyTexts here;
  const std::string folder = GENERATE("-d", "--my run");
  interrupt_first_sample(here, "--out='" + folder + "'");
  std::smatch said;
  const std::string out = read_file(here / "out.txt");
  REQUIRE(std::regex_search(out, said, std::regex("To go on: (.*)\n")));
  const Outcome rest = here.shell("\"$bin\"/" + said[1].str() + " --sample-length 10");
  INFO(said[1] << '\n' << rest.err);
  CHECK(rest.status == 0);
  CHECK(count_lines(here.metrics(folder)) == 1 + 20);
}

TEST_CASE("a run that was stopped just after its first sample has that once", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--out whole");
  interrupt_first_sample(here);
  const fs::path path = here / "run/checkpoint.safetensors";
  Checkpoint saved = load_checkpoint(path, "generate");
  replace_note(saved, "samples", reel::Json::Object{{"before training", "as it was printed"}});
  save_checkpoint(path, saved);
  here.must_train("generate", "--out run --resume");
  CHECK(here.checkpoint("run") == here.checkpoint("whole"));
  CHECK(here.run("generate", "eval --from run").status == 0);
}

TEST_CASE("a run without a stderr leaves whole files", "[trainer]") {
  TinyTexts here;
  const std::string train = "\"$bin/generate\" " + TinyTexts::tiny_model("generate") + "--out run ";
  CHECK(here.shell(train + "2>&-").status == 0);
  CHECK_THAT(events(here, "run"), !ContainsSubstring(" left"));  // of a line of progress
  CHECK(here.shell(train + "--resume -N 30 2>&-").status == 0);
  CHECK(here.shell(train + "--resume -N 40").status == 0);
  CHECK(count_lines(here.metrics("run")) == 1 + 40);
  CHECK(here.shell(train + ">&-").status == 1);
}

TEST_CASE("a run goes on with the data that it began with, or not at all", "[trainer]") {
  const auto& [name, more, file] =
      GENERATE(table<std::string, std::string, std::string>({{"generate", "-N 40", "text.txt"},
                                                             {"classify", "-e 4", "reviews/train.tsv"},
                                                             {"translate", "-e 4", "pairs/train.de"},
                                                             {"translate", "-e 4", "pairs/val.en"}}));
  const std::string program = name;  // which a lambda can capture
  TinyTexts here;
  here.must_train(program, "--out run");
  const std::string kept = here.checkpoint("run"), text = read_file(here / file);
  std::string changed = text;
  const std::size_t word = changed.find(' ', changed.size() / 2);
  std::swap(changed[word - 1], changed[word + 1]);
  REQUIRE(changed != text);
  here.write(file, changed);
  check_refused(program, here.run(program, "train --resume --out run " + more), 1,
                "the data are no longer those that the run in run began with; put these back");
  CHECK(here.checkpoint("run") == kept);
  here.write(file, text);
  here.must_train(program, "--resume --out run " + more);
}

TEST_CASE("a run goes on after its data have moved", "[trainer]") {
  const auto& [name, more, data] = GENERATE(table<std::string, std::string, std::string>(
      {{"generate", "-N 40", "text.txt"}, {"classify", "-e 4", "reviews"}, {"translate", "-e 4", "pairs"}}));
  const std::string program = name;  // which a lambda can capture
  TinyTexts here, there;
  here.must_train(program, "--out run");
  there.must_train(program, "--out run " + more);
  fs::rename(here / data, here / "moved");
  check_refused(
      program, here.run(program, "train --resume --out run " + more), 1,
      "the data that the run in run began with are no longer at " + data + "; say with --data where they are");
  const Outcome resumed = here.run(program, "train --resume --out run --data moved " + more);
  INFO(resumed.err);
  CHECK(resumed.status == 0);
  auto last_row = [](const std::string& rows) { return rows.substr(rows.rfind('\n', rows.size() - 2)); };
  CHECK(last_row(here.metrics("run")) == last_row(there.metrics("run")));

  TinyTexts other;
  other.must_train(program, "--out run");
  other.write("text.txt", tiny_text(4000));
  other.write("reviews/train.tsv", tiny_reviews(80, 1));
  other.write("pairs/train.de", read_file(other / "pairs/train.en"));
  const Outcome refused = other.run(program, "train --resume --out run --data " + data + " " + more);
  check_refused(program, refused, 1, "the data are no longer those that the run in run began with; put these back");
}

TEST_CASE("a program built from other source does not go on with a run on its built-in data", "[trainer]") {
  const auto& [name, small] = GENERATE(table<std::string, std::string>(
      {{"generate", "-N 1 -b 2 -C 8 -E 8 -d 1 --lr-warmup 0 --model conv --sample-length 0"},
       {"classify", "-e 1 -E 8 -d 1 -b 100"},
       {"translate", "-e 1 -E 8 -d 1 --hidden 8 -b 200 -M 25"}}));
  const std::string program = name;  // which a lambda can capture
  TinyTexts here;
  REQUIRE(here.run(program, "train --out run " + small).status == 0);
  Checkpoint saved = load_run(here / "run", program);
  replace_note(saved, "data", note(saved, "data").get<std::int64_t>() ^ 1);
  save_checkpoint(here / "run/checkpoint.safetensors", saved);
  check_refused(program, here.run(program, "train --resume --out run"), 1,
                "the data are no longer those that the run in run began with; this program was built from other "
                "source: start anew without --resume\n");
  if (program != "generate") return;  // the others score test parts
  check_refused(program, here.run(program, "eval --from run"), 1,
                "the built-in corpus has changed since run was trained: what is set aside now, the model may have "
                "learnt; this program was built from other source, so start a new run, or name others to score with "
                "--data\n");
}

TEST_CASE("two runs cannot write into one folder", "[trainer]") {
  const std::string program = any_program();
  TinyTexts here;
  here.must_train(program, "--out run");
  const std::string kept = here.checkpoint("run"), reason = "another run is writing into run; wait for its end";
  const FolderLock other(here / "run");
  check_refused(program, here.train(program, "-r 2 --out run"), 1, reason);
  check_refused(program, here.run(program, "train --resume --out run"), 1, reason);
  CHECK(here.checkpoint("run") == kept);
  CHECK(here.run(program, "eval --from run").status == 0);
}

TEST_CASE("what can be refused without the data is refused before they are read", "[trainer]") {
  const std::string program = any_program();
  TinyTexts here;
  auto refused = [&](const std::string& options, int status, const std::string& reason) {
    check_refused(program, here.train(program, "--data missing --out run " + options), status, reason);
  };
  refused("--optimizer adamw", 2, "without decay it is adam");
  refused("--optimizer sgd --lazy-adam", 2, "--lazy-adam: only for --optimizer adam");
  refused("--schedule cosine --min-lr 1", 2, "--min-lr: 1 is more than the --learn-rate");
  refused("--schedule wsd", 2, "say with --lr-decay");
  if (program == "generate") refused("--schedule cosine --lr-warmup 1000", 2, "steps, and the run has 20");
  refused("", 1, "missing");
  CHECK_FALSE(fs::exists(here / "run"));
  fs::create_directory(here / "run");
  const FolderLock other(here / "run");
  refused("", 1, "another run is writing into run");
}

TEST_CASE("what killed runs have left half written goes away", "[trainer]") {
  TinyTexts here;
  for (const char* file : {"checkpoint.safetensors", "metrics.csv", "report.html", "mine"}) {
    here.write(std::string("run/") + file + ".123-0.tmp", "half");
  }
  here.must_train("generate", "--out run");
  for (const char* file : {"checkpoint.safetensors", "metrics.csv", "report.html"}) {
    CHECK_FALSE(fs::exists(here / (std::string("run/") + file + ".123-0.tmp")));
  }
  CHECK(fs::exists(here / "run/mine.123-0.tmp"));
}

TEST_CASE("of many samples a report has some, the first and the last among them", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--test-every 1 -N 150 --model conv --out run");
  const std::string report = here.report("run");
  CHECK(count_of("tb-dir", report) == 0);  // no option without a value
  CHECK(count_of("class='sample'", report) <= 60);
  CHECK(count_of("class='sample'", report) >= 30);
  CHECK_THAT(report, ContainsSubstring("before training") && ContainsSubstring("after step 150"));
}

TEST_CASE("a run that is killed while it is scored has saved its steps", "[trainer]") {
  TinyTexts here;
  here.write("text.txt", tiny_text(2'000'000));  // nearly all of it is scored, after five steps that take a moment
  const Outcome killed =
      here.shell("\"$bin/generate\" " + TinyTexts::tiny_model("generate") +
                 "--split 0.02 --test-every 5 --threads 1 --out run & "
                 "until grep -aqs 'step[^,]*:5,' run/checkpoint.safetensors || [ $(wc -l <run/metrics.csv) -gt 5 ]; "
                 "do kill -0 $! || exit 99; done 2>/dev/null; kill -KILL $!; wait $!");
  CHECK(killed.status == 137);
  CHECK(count_lines(here.metrics("run")) == 5);  // a header and four steps: the fifth is being scored
  CHECK(note(load_checkpoint(here / "run/checkpoint.safetensors", "generate"), "step") == reel::Json(5));
}

TEST_CASE("what a killed run did not record of its last step, a resumed one does", "[trainer]") {
  const auto& [name, part, all_of_it] = GENERATE(
      table<std::string, std::string, std::string>({{"generate", "-N 5 --test-every 5", "-N 10 --test-every 5"},
                                                    {"generate", "-N 5 --test-every 4", "-N 10 --test-every 4"},
                                                    {"classify", "-e 1", "-e 2"},
                                                    {"translate", "-e 1", "-e 2"}}));
  const std::string program = name, half = part, whole = all_of_it;  // which a lambda can capture
  CAPTURE(program, half);
  TinyTexts here;
  const Outcome all = here.must_train(program, half + " --out all");
  here.must_train(program, whole + " --out whole");
  const std::string last_lines = all.out.substr(all.out.rfind('\n', all.out.rfind("  train loss ")));

  // As if it had been killed between its last checkpoint and the last row.
  auto train_half = [&](const std::string& out) {
    here.must_train(program, half + " --out " + out);
    here.write(out + "/metrics.csv",
               here.metrics(out).substr(0, here.metrics(out).rfind('\n', here.metrics(out).size() - 2) + 1));
    here.shell("rm " + out + "/report.html");
  };
  train_half("run");
  const Outcome finished = here.run(program, "train --resume --out run");
  CHECK(finished.status == 0);
  CHECK(finished.out.ends_with(std::regex_replace(last_lines, std::regex("saved all/"), "saved run/")));
  CHECK(here.metrics("run") == here.metrics("all"));
  CHECK(here.checkpoint("run") == here.checkpoint("all"));
  CHECK(fs::exists(here / "run/report.html"));

  // Or while the end was scored: what is printed then, and the report, come again.
  here.shell("rm run/report.html");
  const Outcome again = here.run(program, "train --resume --out run");
  CHECK(again.status == 0);
  CHECK_THAT(again.out, ContainsSubstring("The run has taken all its steps; for more, say --num-"));
  const std::string scored = last_lines.substr(last_lines.find('\n', 1));  // all but what it came to in training
  CHECK(again.out.ends_with(std::regex_replace(scored, std::regex("saved all/"), "saved run/")));
  CHECK_THAT(here.report("run"), program == "classify" ? ContainsSubstring(">validation accuracy<")
                                                       : ContainsSubstring(">validation loss<"));
  CHECK(here.metrics("run") == here.metrics("all"));
  CHECK(here.checkpoint("run") == here.checkpoint("all"));
  CHECK(fs::exists(here / "run/report.html"));

  train_half("longer");
  CHECK(here.run(program, "train --resume --out longer " + whole).status == 0);
  if (half != "-N 5 --test-every 4") CHECK(here.metrics("longer") == here.metrics("whole"));
  CHECK(here.checkpoint("longer") == here.checkpoint("whole"));
}

TEST_CASE("a run that was killed before it began its metrics does not go on with an earlier run's", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "-N 6 --test-every 6 -r 2 --out earlier");
  here.must_train("generate", "-N 1 --test-every 6 --out run");
  here.must_train("generate", "-N 3 --test-every 6 --out whole");
  here.write("run/metrics.csv", here.metrics("earlier"));  // as if it had just been saved, and replaced nothing else
  auto give_best_of_earlier = [&](const std::string& run) {
    fs::remove(here / run / "best.safetensors");  // which may be another name of the checkpoint
    fs::copy_file(here / "earlier/best.safetensors", here / run / "best.safetensors");
  };
  give_best_of_earlier("run");
  here.must_train("generate", "--resume -N 3 --test-every 6 --out run");
  CHECK(here.metrics("run") == here.metrics("whole"));
  CHECK(here.checkpoint("run") == here.checkpoint("whole"));
  CHECK(read_file(here / "run/best.safetensors") == read_file(here / "whole/best.safetensors"));

  // With the same first step, its rows are taken for the run's own, but not its best checkpoint.
  here.must_train("generate", "-N 6 --test-every 6 --out earlier");
  here.must_train("generate", "-N 1 --test-every 6 --out stopped");
  here.write("stopped/metrics.csv", here.metrics("earlier"));
  give_best_of_earlier("stopped");
  const Outcome stopped = here.shell(
      "\"$bin/generate\" train --resume -N 1000000 --test-every 1000000 --out stopped & "
      "until [ $(wc -l <stopped/metrics.csv) -gt 20 ]; do kill -0 $! || exit 99; done; kill -INT $!; wait $!");
  REQUIRE(stopped.status == 130);
  CHECK_FALSE(fs::exists(here / "stopped/best.safetensors"));

  here.must_train("generate", "-N 1 --test-every 6 --out own");
  const std::string first = here.metrics("own");  // with a score: the step was the run's last
  here.must_train("generate", "--resume -N 3 --test-every 6 --out own");
  CHECK(here.metrics("own").starts_with(first));
}

TEST_CASE("a step of several batches is that of one large batch", "[trainer]") {
  TinyTexts here;
  std::string german, english;
  for (int i = 0; i < 8; ++i) {  // long sentences and short ones
    for (int word = 0; word < (i % 2 == 0 ? 7 : 1); ++word) {
      german += word % 2 == i % 2 ? "eins " : "zwei ";
      english += word % 3 == 0 ? "one " : "two ";
    }
    german += '\n';
    english += '\n';
  }
  here.write("pairs/train.de", german);
  here.write("pairs/train.en", english);
  auto first_step = [&](const std::string& options) {
    here.must_train("translate", "--batches random --dropout 0 -e 1 --gradient-clipping 1000 --out run " + options);
    std::istringstream rows(here.metrics("run"));
    std::string names, row;
    std::getline(rows, names);
    std::getline(rows, row);
    std::vector<double> numbers;
    std::istringstream cells(row);
    for (std::string cell; std::getline(cells, cell, ',');) numbers.push_back(cell.empty() ? 0 : std::stod(cell));
    return std::vector(numbers.begin(), numbers.begin() + 5);  // step, loss, accuracy, learn_rate, gradient_norm
  };
  const auto at_once = first_step("-b 8");
  for (const char* options : {"-b 4 --accumulate 2", "-b 1 --accumulate 8", "-b 7 --accumulate 2"}) {
    CAPTURE(options);
    const auto in_parts = first_step(options);
    for (const std::size_t i : {1U, 2U, 4U}) CHECK(in_parts[i] == Approx(at_once[i]).epsilon(1e-4));
  }
}

TEST_CASE("a run is resumed as it was begun, or not at all", "[trainer]") {
  const auto& [name, data, more, other] = GENERATE(table<std::string, std::string, std::string, std::string>(
      {{"generate", "text.txt", "--num-batches", "--model conv"},
       {"classify", "reviews", "--num-epochs", "--final"},
       {"translate", "pairs", "--num-epochs", "--tie"}}));
  const std::string program = name;  // which a lambda can capture
  TinyTexts here;
  here.must_train(program, "--out run");
  const std::string kept = here.checkpoint("run"), metrics = here.metrics("run");
  const auto written = fs::last_write_time(here / "run/checkpoint.safetensors");
  auto refused = [&](const std::string& options, int status, const std::string& reason) {
    check_refused(program, here.run(program, "train --resume " + options), status, reason);
  };
  refused("--out none", 1, "none/checkpoint.safetensors: there is no such file; " + program + " train writes one");
  CHECK_FALSE(fs::exists(here / "none"));
  for (const std::string& option : {other, std::string("-E 8"), std::string("-H 4"), std::string("-r 2"),
                                    std::string("-b 3"), std::string("--accumulate 2")}) {
    refused("--out run " + more + " 40 " + option, 2, "cannot change within a run; leave it out with --resume");
  }
  refused("--out run " + more + " 40 --optimizer sgd", 2, "--optimizer: the run began with adam");
  refused("--out run " + more + " 40 --data ''", 2, "--data: the value ");
  const Outcome done = here.run(program, "train --resume --out run");
  CHECK(done.status == 0);
  CHECK_THAT(done.out, ContainsSubstring("The run has taken all its steps; for more, say " + more + "\n"));
  CHECK(here.checkpoint("run") == kept);
  CHECK(fs::last_write_time(here / "run/checkpoint.safetensors") == written);
  CHECK(here.metrics("run") == metrics);
  const std::string taken = " steps, but the run has already taken " + std::to_string(count_lines(metrics) - 1);
  refused("--out run " + more + " 1", 2, more + " gives ");  // and not "one more"
  refused("--out run " + more + " 1", 2, taken + "; give more");
  CHECK(here.checkpoint("run") == kept);

  // What changes is saved, even if no step is left to take: where the data have gone, for instance. All else stays, and
  // so a longer run goes on as if nothing had happened.
  const Checkpoint before = load_run(here / "run", program);
  fs::rename(here / data, here / "moved");
  CHECK(here.run(program, "train --resume --out run --data moved").status == 0);
  CHECK(here.run(program, "eval --from run").status == 0);
  for (const auto& [key, value] : before.notes) {
    CAPTURE(key);
    CHECK((note(load_run(here / "run", program), key) == value) == (key != "options"));
  }
  CHECK(here.metrics("run") == metrics);
}

TEST_CASE("a run can begin with the weights of another", "[trainer]") {
  const auto& [name, data, steps] = GENERATE(table<std::string, std::string, std::string>(
      {{"generate", "text.txt", "-N "}, {"classify", "reviews", "-e "}, {"translate", "pairs", "-e "}}));
  const std::string program = name;  // which a lambda can capture
  TinyTexts here;
  here.must_train(program, "--out base");
  const Checkpoint base = load_run(here / "base", program);
  auto train = [&, line = "train --from base --data " + data + " --lr-warmup 0 " + steps](const std::string& options) {
    return here.run(program, line + options);
  };
  auto check_begun = [&](const Outcome& outcome) {
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.out, ContainsSubstring(", which begins with the weights of base\n"));
  };

  // Steps too small to change a weight: the model, all of it, is that of the other run. The optimizer is not.
  check_begun(train("1 --out same --optimizer sgd -l 1e-30"));
  const Checkpoint same = load_run(here / "same", program);
  REQUIRE(same.weights.size() == base.weights.size());
  for (std::size_t i = 0; i < base.weights.size(); ++i) {
    INFO(base.weights[i].first);
    CHECK(same.weights[i].first == base.weights[i].first);
    CHECK(same.weights[i].second.to_vector() == base.weights[i].second.to_vector());
  }
  for (const char* option : {"embedding", "heads", "depth"}) CHECK(option_of(same, option) == option_of(base, option));
  CHECK(option_of(same, "learn-rate") == "1e-30");
  CHECK(option_of(same, "batch-size") != option_of(base, "batch-size"));
  CHECK(option_of(same, "from") == "base");
  CHECK(note(same, "step").get<std::int64_t>() == count_lines(here.metrics("same")) - 1);

  // What is not of the weights can be given anew.
  check_begun(train("1 --out dropped --optimizer sgd -l 1e-30 --dropout 0.5"));
  CHECK(option_of(load_run(here / "dropped", program), "dropout") == "0.5");
  CHECK(here.metrics("dropped") != here.metrics("same"));
  const std::string reason = "--embedding: the weights in base were made with --embedding 16; leave it out with --from";
  check_refused(program, train("1 --out other -E 8"), 2, reason);
  CHECK_FALSE(fs::exists(here / "other"));

  // It can be resumed, and has no need of the other then.
  check_begun(train("2 --out whole -r 2 -E 16"));
  check_begun(train("1 --out parts -r 2"));
  fs::rename(here / "base", here / "moved");
  const Outcome resumed = here.run(program, "train --resume --out parts " + steps + "2");
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.out, ContainsSubstring("seed 2, resumed after step "));
  CHECK(here.checkpoint("parts") == here.checkpoint("whole"));
  check_refused(program, here.run(program, "train --resume --out same --from parts"), 2,
                "--from cannot change within a run");
}

TEST_CASE("the checkpoint with the lowest validation loss stays beside the last one", "[trainer]") {
  const auto& [program, length] = GENERATE(table<std::string, std::string>(
      {{"generate", "-N 200 --test-every 20"}, {"classify", "-e 6"}, {"translate", "-e 6"}}));
  CAPTURE(program);
  TinyTexts here;
  const std::string options = length + " --schedule constant --lr-warmup 0 -l 0.3 ";  // too fast to get better for long
  const Outcome trained = here.must_train(program, options + "--out run");
  const std::vector<Point> losses = read_metrics(here / "run/metrics.csv")["validation_loss"];
  const Point best = *std::ranges::min_element(losses, {}, &Point::y);
  const auto step = static_cast<std::int64_t>(best.x);
  REQUIRE(best.x < losses.back().x);
  CHECK_THAT(trained.out,
             ContainsSubstring(reel::text("; best.safetensors beside it is of step ", step,
                                          ", whose validation loss was the lowest, ", fixed(best.y, 4), "\n")));
  CHECK_THAT(here.report("run"), ContainsSubstring(reel::text("lowest validation loss, after step ", step)));
  const Checkpoint kept = load_checkpoint(here / "run/best.safetensors", program);
  CHECK(note(kept, "step").get<std::int64_t>() == step);
  const Outcome scored = here.run(program, "eval --from run/best.safetensors");
  CHECK(scored.status == 0);
  if (program == "generate") CHECK_THAT(scored.out, ContainsSubstring("validation loss " + fixed(best.y, 4)));

  // Another run in the folder has its own.
  const std::string bytes = read_file(here / "run/best.safetensors");
  here.must_train(program, length + " --out run");
  CHECK(read_file(here / "run/previous-best.safetensors") == bytes);
  CHECK(read_file(here / "run/best.safetensors") != bytes);
}

TEST_CASE("a best checkpoint is none that came after it", "[trainer]") {
  TinyTexts here;
  const std::string options = "--test-every 20 --schedule constant --lr-warmup 0 -l 0.3 --out run ";
  here.must_train("generate", options + "-N 200");
  const std::string best = read_file(here / "run/best.safetensors");
  REQUIRE(best != here.checkpoint("run"));
  here.must_train("generate", options + "-N 210 --resume");
  CHECK(read_file(here / "run/best.safetensors") == best);
  REQUIRE(fs::remove(here / "run/best.safetensors"));
  const Outcome again = here.must_train("generate", options + "-N 210 --resume");
  CHECK_FALSE(fs::exists(here / "run/best.safetensors"));
  CHECK(again.last_line_of_out() == "saved run/checkpoint.safetensors");
}

TEST_CASE("a run that was killed before it kept its best checkpoint does so when it is resumed", "[trainer]") {
  TinyTexts here;
  const Outcome trained = here.must_train("generate", "--test-every 10 --out run");
  CHECK_THAT(trained.out, !ContainsSubstring("lowest"));  // it is the last one
  check_refused("generate", here.run("generate", "train --resume --out run/best.safetensors"), 2,
                "--out: run/best.safetensors is a file; --resume goes on with the last checkpoint of a folder");
  REQUIRE(fs::remove(here / "run/best.safetensors"));
  here.must_train("generate", "--test-every 10 --out run --resume");
  CHECK(read_file(here / "run/best.safetensors") == here.checkpoint("run"));
}

TEST_CASE("a new run keeps what an earlier one left in its folder", "[trainer]") {
  const std::string program = any_program();
  TinyTexts here;
  here.must_train(program, "--out run -r 1");
  const std::string first = here.checkpoint("run"), first_metrics = here.metrics("run");
  const std::string first_report = here.report("run");
  const Outcome again = here.must_train(program, "--out run -r 2");
  CHECK_THAT(again.out, ContainsSubstring("An earlier run's checkpoint is kept as run/previous.safetensors"));
  const std::string second = here.checkpoint("run");
  CHECK(second != first);
  CHECK(read_file(here / "run/previous.safetensors") == first);
  CHECK(read_file(here / "run/previous.csv") == first_metrics);
  CHECK(read_file(here / "run/previous.html") == first_report);

  here.must_train(program, "--out run -r 3");
  CHECK(read_file(here / "run/previous.safetensors") == first);
  CHECK(read_file(here / "run/previous-2.safetensors") == second);

  // Where one of its names is taken, none of them is used.
  for (const char* gone : {"run/previous.safetensors", "run/previous.html"}) fs::remove(here / gone);
  here.must_train(program, "--out run -r 3");
  CHECK(read_file(here / "run/previous.csv") == first_metrics);
  CHECK_FALSE(fs::exists(here / "run/previous.safetensors"));
  CHECK(fs::exists(here / "run/previous-3.csv"));

  // One that dies before its first step changes nothing.
  const std::string third = here.checkpoint("run");
  CHECK(here.train(program, "--out run --data missing").status == 1);
  CHECK(here.train(program, "--out run >/dev/full").status == 1);
  CHECK(here.checkpoint("run") == third);
  CHECK_FALSE(fs::exists(here / "run/previous-4.safetensors"));
}

TEST_CASE("while a new run takes over a folder, there is a checkpoint at any time", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  const fs::path checkpoint = here / "run/checkpoint.safetensors";
  std::atomic<bool> over = false;
  int missed = 0;
  std::thread watch([&] {
    while (!over) missed += fs::exists(checkpoint) ? 0 : 1;
  });
  for (int i = 0; i < 5; ++i) CHECK(here.train("generate", "-N 1 --out run").status == 0);
  over = true;
  watch.join();
  CHECK(missed == 0);
}

TEST_CASE("a new run that cannot be saved leaves the earlier one as it was", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  const bool is_link = GENERATE(false, true);
  if (is_link) {
    fs::rename(here / "run/checkpoint.safetensors", here / "elsewhere.safetensors");
    fs::create_symlink("../elsewhere.safetensors", here / "run/checkpoint.safetensors");
  }
  const std::string kept = here.checkpoint("run"), metrics = here.metrics("run"), report = here.report("run");
  const Outcome full =
      here.shell("ulimit -f 2; \"$bin/generate\" " + TinyTexts::tiny_model("generate") + "--sample-length 0 --out run");
  CHECK(full.status == 1);
  CHECK_THAT(full.last_line_of_err(),
             ContainsSubstring(is_link ? "/elsewhere.safetensors: " : "cannot write run/checkpoint.safetensors: "));
  CHECK(here.checkpoint("run") == kept);
  CHECK(here.metrics("run") == metrics);
  CHECK(here.report("run") == report);
  CHECK(fs::is_symlink(here / "run/checkpoint.safetensors") == is_link);
  for (const char* ending : {"safetensors", "csv", "html"}) {
    CHECK_FALSE(fs::exists(here / (std::string("run/previous.") + ending)));
  }
}

TEST_CASE("a run that was killed before its first save leaves the earlier one to go on, whole under each name",
          "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  const std::string kept = here.checkpoint("run"), metrics = here.metrics("run"), report = here.report("run");
  for (const auto& [first, second] : StringPairs{{"checkpoint.safetensors", "previous.safetensors"},
                                                 {"metrics.csv", "previous.csv"},
                                                 {"report.html", "previous.html"}}) {
    fs::create_hard_link(here / ("run/" + first), here / ("run/" + second));
  }
  here.must_train("generate", "--resume -N 22 --out run");
  CHECK(count_lines(here.metrics("run")) == 1 + 22);
  here.must_train("generate", "-r 2 --out run");
  CHECK(read_file(here / "run/previous.safetensors") == kept);
  CHECK(read_file(here / "run/previous.csv") == metrics);
  CHECK(read_file(here / "run/previous.html") == report);
  CHECK(count_lines(read_file(here / "run/previous-2.csv")) == 1 + 22);
  CHECK(fs::exists(here / "run/previous-2.safetensors"));
  CHECK(fs::exists(here / "run/previous-2.html"));
}

TEST_CASE("an earlier checkpoint is kept where its name is a link, too", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  const std::string kept = here.checkpoint("run");
  fs::rename(here / "run/checkpoint.safetensors", here / "elsewhere.safetensors");
  fs::create_symlink("../elsewhere.safetensors", here / "run/checkpoint.safetensors");
  here.must_train("generate", "-r 2 --out run");
  CHECK(here.checkpoint("run") != kept);
  CHECK(read_file(here / "run/previous.safetensors") == kept);
}

TEST_CASE("a negative seed is drawn, shown and repeatable", "[trainer]") {
  const std::string program = any_program();
  TinyTexts here;
  const Outcome drawn = here.must_train(program, "-r -1 --out drawn");
  std::smatch seed;
  REQUIRE(std::regex_search(drawn.out, seed, std::regex("seed (\\d+)")));
  here.must_train(program, "--out again -r " + seed[1].str());
  CHECK(here.checkpoint("again") == here.checkpoint("drawn"));
}

TEST_CASE("a run says when its norms need a warm-up that it has not", "[trainer]") {
  const std::string warning = "without --lr-warmup, training may diverge";
  const auto& [program, other] = GENERATE(table<std::string, std::string>({{"generate", "--model conv"},
                                                                           {"generate", "--norm pre"},
                                                                           {"classify", "--norm pre"},
                                                                           {"translate", "--norm pre"}}));
  TinyTexts here;
  CHECK_THAT(here.must_train(program, "--out run --lr-warmup 0").out, ContainsSubstring(warning));
  CHECK_THAT(here.must_train(program, "--out run").out, !ContainsSubstring(warning));
  CHECK_THAT(here.must_train(program, "--out run --lr-warmup 0 " + other).out, !ContainsSubstring(warning));
}

TEST_CASE("a run leaves a report", "[trainer]") {
  TinyTexts here;
  auto report_of = [&](const std::string& program, const std::string& options) {
    here.must_train(program, options + " --out run");
    const std::string html = here.report("run");
    CHECK(html_problem(html) == "");
    for (const char* part : {"<h1>", ">validation loss<", ">validation accuracy<", ">Options<"}) {
      CAPTURE(program, part);
      CHECK(count_of(part, html) == 1);
    }
    return html;
  };
  const std::string written = report_of("generate", "");
  CHECK(count_of("class='sample'", written) == 2);  // before training, and after
  CHECK(count_of("class='heat-map'", written) == 2);
  CHECK(count_of("class='chart'", written) == 3);
  CHECK_THAT(written, ContainsSubstring("gtransformer on text.txt, "));

  const std::string labelled = report_of("classify", "-d 3");
  CHECK_THAT(labelled, ContainsSubstring(">a bag of words&#39; accuracy<"));
  CHECK_THAT(labelled, ContainsSubstring(">label</th>") && ContainsSubstring(">probability</th>"));
  CHECK(count_of("<tr>", labelled) == 1 + 6);  // six texts validate
  CHECK(count_of("class='heat-map'", labelled) == 2 * 2);
  CHECK(count_of(">Block 3, head 2<", labelled) == 1);
  CHECK(count_of("class='chart'", labelled) == 3);

  const std::string translated = report_of("translate", "-d 2");
  CHECK_THAT(translated, ContainsSubstring("transformer on pairs, de to en, "));
  CHECK(count_of(">validation BLEU<", translated) == 1);
  CHECK(count_of("<tr>", translated) == 1 + 8);
  for (const char* kind : {"Encoder", "Decoder", "Cross"}) {
    CHECK(count_of(">" + std::string(kind) + ", head 2<", translated) == 1);
  }
  CHECK(count_of("class='heat-map'", translated) == 3 * 2);
  CHECK_THAT(translated, ContainsSubstring(">&lt;start&gt;</text>"));
  CHECK(count_of("class='heat-map'", report_of("translate", "--model rnn")) == 0);
}

TEST_CASE("a report of a final run has what the test part came to", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--final --out run");
  CHECK(count_of(">test loss<", here.report("run")) == 1);
  here.must_train("classify", "--final --out run");
  CHECK(count_of(">test accuracy<", here.report("run")) == 1);
  CHECK(count_of(">validation accuracy<", here.report("run")) == 0);
  here.must_train("translate", "--final --out run");
  CHECK(count_of(">test_a BLEU<", here.report("run")) == 1);
  CHECK(count_of(">test_b perplexity<", here.report("run")) == 1);
}

TEST_CASE("a model that counts leaves a report and its score, too", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--model ngram --out run");
  const std::string html = here.report("run");
  CHECK(html_problem(html) == "");
  CHECK(count_of(">validation loss<", html) == 1);
  CHECK(count_of("class='sample'", html) == 1);
  CHECK(count_of("class='chart'", html) == 0);
  CHECK(count_lines(here.metrics("run")) == 2);
  CHECK_THAT(here.metrics("run"), ContainsSubstring("\n0,,,,,"));
  check_refused("generate", here.run("generate", "train --resume --out run -N 40"), 2, "a model that counts is done");
}

TEST_CASE("output that cannot be written is an error", "[trainer]") {
  const std::string program = any_program();
  TinyTexts here;
  here.write("file", "");
  check_refused(program, here.train(program, "--out file"), 1, "cannot make the folder file");
  check_refused(program, here.train(program, "--out file/run"), 1, "cannot make the folder file/run");
  check_refused(program, here.train(program, "--out /proc/run"), 1, "cannot make the folder /proc/run");
  here.must_train(program, "--out run");
  const std::string kept = here.checkpoint("run");
  CHECK(here.train(program, "--out run --tb_dir file").last_line_of_err() ==
        program + " train: cannot make the folder file: Not a directory");
  CHECK(here.train(program, "--out run >/dev/full").status == 1);
  check_refused(program, here.run(program, "eval --from run >/dev/full"), 1,
                "cannot write to standard output: No space left");
  CHECK(here.checkpoint("run") == kept);
}

TEST_CASE("where TensorBoard's files fill the disk, no step is lost", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "-N 1 --out small");
  const std::size_t blocks = here.checkpoint("small").size() / 512 + 2;  // no file may be longer
  const Outcome full = here.shell("trap '' XFSZ; ulimit -f " + std::to_string(blocks) + "; \"$bin/generate\" " +
                                  TinyTexts::tiny_model("generate") + "-N 100000 --test-every 100000 --out run");
  CHECK(full.status == 1);
  CHECK_THAT(full.last_line_of_err(), ContainsSubstring("cannot write run/events.out.tfevents."));
  const auto step = note(load_checkpoint(here / "run/checkpoint.safetensors", "generate"), "step").get<std::int64_t>();
  CHECK(step > 1);
  CHECK(step == count_lines(here.metrics("run")) - 1);
}

TEST_CASE("curves of an earlier run are forgotten once another has the folder, and not before", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "-N 3 --out run");
  CHECK(starts(here, "run") == std::vector{1});
  CHECK(here.train("generate", "--lr-warmup 0 -l 1e300 --out run").status == 1);
  CHECK(starts(here, "run") == std::vector{1});
  here.must_train("generate", "-N 3 --out run");
  CHECK(starts(here, "run") == std::vector{1, 1});
}

TEST_CASE("curves go no further than the checkpoint that a run is resumed from", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "-N 2 --out run");
  const std::string saved = here.checkpoint("run");
  here.must_train("generate", "--resume -N 4 --out run");
  CHECK(starts(here, "run") == std::vector{1, 3});
  here.write("run/checkpoint.safetensors", saved);  // as if it had been killed before the next save
  here.must_train("generate", "--resume -N 2 --out run");
  CHECK(starts(here, "run") == std::vector{1, 3, 3});
}

TEST_CASE("training that diverges ends, and what was saved is kept", "[trainer]") {
  const std::string program = any_program();
  TinyTexts here;
  here.must_train(program, "--out run");
  const std::string kept = here.checkpoint("run");
  const Outcome diverged = here.train(program, "--lr-warmup 0 -l 1e30 --out run");
  CHECK(diverged.status == 1);
  CHECK_THAT(diverged.last_line_of_err(),
             ContainsSubstring("training diverged: after step ") && ContainsSubstring("Try a lower --learn-rate"));
  CHECK(read_file(here / "run/previous.safetensors") == kept);
  const Outcome scored = here.run(program, "eval --from run");  // what the first step left
  if (scored.status == 0) {
    CHECK_THAT(scored.out, ContainsSubstring(" loss "));
  } else {
    check_refused(program, scored, 1, "run: the model's loss is ");
  }
}

TEST_CASE("where only the score shows that training diverged, what was saved before is kept, too", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "-N 1 --out run");
  const std::string kept = here.checkpoint("run");
  const Outcome diverged = here.train("generate", "-N 2 -l 1e30 --resume --out run");
  CHECK(diverged.status == 1);
  CHECK_THAT(diverged.last_line_of_err(), ContainsSubstring("training diverged: after step "));
  CHECK(here.checkpoint("run") == kept);

  const Outcome at_once = here.train("generate", "-N 1 -l 1e30 --out run");
  CHECK(at_once.status == 1);
  CHECK_FALSE(fs::exists(here / "run/checkpoint.safetensors"));
  CHECK(read_file(here / "run/previous.safetensors") == kept);
}

TEST_CASE("a final score that is no number is no result", "[trainer]") {
  TinyTexts here;
  const Outcome diverged = here.train("classify", "-e 1 -b 1000 --lr-warmup 0 -l 1e30 --final --out run");
  CHECK(diverged.status == 1);
  CHECK_THAT(diverged.last_line_of_err(), ContainsSubstring("run: the model's loss is "));
}

TEST_CASE("every verb has a page of help", "[trainer]") {
  const auto& [program, last] = GENERATE(
      table<std::string, std::string>({{"generate", "sample"}, {"classify", "predict"}, {"translate", "predict"}}));
  TinyTexts here;
  for (const std::string& verb : {std::string("train"), std::string("eval"), last}) {
    const Outcome page = here.run(program, verb + " -h");
    CHECK(page.status == 0);
    CHECK(page.err.empty());
    CHECK(page.out.starts_with("usage: " + program + " " + verb + " [options]"));
    CHECK_THAT(page.out, ContainsSubstring("--threads N"));
  }
}

TEST_CASE("a checkpoint of another version says so, and where it lies", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  Checkpoint saved = load_checkpoint(here / "run/checkpoint.safetensors", "generate");
  std::erase_if(saved.notes, [](const auto& entry) { return entry.first == "last step"; });
  save_checkpoint(here / "run/checkpoint.safetensors", saved);
  check_refused("generate", here.run("generate", "train --resume --out run -N 40"), 1,
                "run/checkpoint.safetensors does not fit, perhaps because another version of Reel wrote it: "
                "the checkpoint has no entry \"last step\"");
}

TEST_CASE("a checkpoint with an option that there is not says where it lies", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  Checkpoint saved = load_checkpoint(here / "run/checkpoint.safetensors", "generate");
  StringPairs options = string_pairs_from(note(saved, "options"));
  options.emplace_back("gone", "1");
  for (auto& [name, value] : saved.notes) {
    if (name == "options") value = to_json(options);
  }
  save_checkpoint(here / "run/checkpoint.safetensors", saved);
  for (const char* verb : {"train --resume --out run", "train --from run --out other", "eval --from run"}) {
    CAPTURE(verb);
    check_refused(
        "generate", here.run("generate", verb), 1,
        "run/checkpoint.safetensors does not fit, perhaps because another version of Reel wrote it: the stored "
        "configuration has an option --gone");
  }
}

TEST_CASE("a run goes on though a program has saved its metrics with other line ends", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  const std::string rows = read_file(here / "run/metrics.csv");
  here.write("run/metrics.csv", std::regex_replace(rows, std::regex("\n"), "\r\n"));
  CHECK(here.run("generate", "train --resume -N 25 --out run").status == 0);
  CHECK(read_file(here / "run/metrics.csv").starts_with(rows));
}

TEST_CASE("a run goes on whose version lacked an option that there is now", "[trainer]") {
  const std::string added = GENERATE("tokenizer", "norm", "activation", "beta1");
  TinyTexts here;
  here.must_train("generate", "--out run");
  Checkpoint saved = load_checkpoint(here / "run/checkpoint.safetensors", "generate");
  auto& options = note(saved, "options");
  StringPairs kept = string_pairs_from(options);
  std::erase_if(kept, [&](const auto& option) { return option.first == added; });
  REQUIRE(std::ssize(kept) + 1 == std::ssize(string_pairs_from(options)));
  for (auto& [name, value] : saved.notes) {
    if (name == "options") value = to_json(kept);
  }
  save_checkpoint(here / "run/checkpoint.safetensors", saved);
  CHECK(here.run("generate", "eval --from run").status == 0);
  CHECK(here.run("generate", "train --resume --out run -N 40").status == 0);
  if (added != "norm") return;
  CHECK(here.run("generate", "train --resume --out run --norm post").status == 0);
  here.must_train("generate", "--from run --out other --norm post -N 1");
  const Outcome changed = here.train("generate", "--from run --out other --norm pre -N 1");
  CHECK_THAT(changed.err, ContainsSubstring("--norm: the weights in run were made with --norm post"));
}

TEST_CASE("a step that was not recorded ends an interval where a resumed run has its end", "[trainer]") {
  TinyTexts here;
  const std::string trained = here.must_train("generate", "-N 6 --test-every 4 --out run").out;
  // As if it had been stopped after step 6 of more, and killed before the last row was written.
  Checkpoint saved = load_checkpoint(here / "run/checkpoint.safetensors", "generate");
  for (auto& [name, value] : saved.notes) {
    if (name == "interval") value = reel::Json::Object{{"losses", 0.0}, {"right", 0}, {"all", 0}};
  }
  save_checkpoint(here / "run/checkpoint.safetensors", saved);
  fs::remove(here / "run/metrics.csv");
  const Outcome resumed = here.run("generate", "train --resume -N 6 --out run");
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.out, !ContainsSubstring("nan"));
  CHECK_THAT(resumed.out, ContainsSubstring(trained.substr(trained.find("after step 6  train"), 40)));
}

TEST_CASE("a warm-up that a run does not outlast is named", "[trainer]") {
  TinyTexts here;
  const std::string rest = ": the rate will not reach --learn-rate.";
  CHECK_THAT(here.must_train("generate", "-b 2 -N 3 --lr-warmup 7 --out run").out,
             ContainsSubstring("The run has 3 steps, its warm-up 4" + rest));
  CHECK_THAT(here.must_train("generate", "-b 2 -N 3 --lr-warmup 6 --out run").out,
             ContainsSubstring("The run has 3 steps, its warm-up 3" + rest));
  CHECK_THAT(here.must_train("generate", "-b 2 -N 3 --lr-warmup 4 --out run").out, !ContainsSubstring("its warm-up"));
}

TEST_CASE("an interval that a resumed run cuts short has its own mean", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "-N 5 --test-every 5 --out run");
  const Outcome resumed = here.run("generate", "train --resume -N 8 --test-every 4 --out run");
  std::istringstream file(here.metrics("run"));
  double sum = 0;
  std::string row;
  std::getline(file, row);
  for (int step = 1; std::getline(file, row); ++step) {
    if (step > 5) sum += std::stod(row.substr(row.find(',') + 1));
  }
  std::smatch shown;
  REQUIRE(std::regex_search(resumed.out, shown, std::regex(R"(after step 8  train loss (\d\.\d{4}) nats)")));
  CHECK(std::stod(shown[1]) == Approx(sum / 3).margin(1e-4));
}

TEST_CASE("a checkpoint whose score is no number stays, where a killed run has saved it", "[trainer]") {
  TinyTexts here;
  here.must_train("generate", "-N 2 --test-every 3 --out run");
  Checkpoint saved = load_checkpoint(here / "run/checkpoint.safetensors", "generate");
  for (auto& [name, weight] : saved.weights)
    copy(reel::full(weight.shape(), 1e30), weight);  // finite, but the score is not
  save_checkpoint(here / "run/checkpoint.safetensors", saved);
  const std::string kept = here.checkpoint("run");
  here.write("run/metrics.csv",
             here.metrics("run").substr(0, here.metrics("run").rfind('\n', here.metrics("run").size() - 2) + 1));
  const Outcome diverged = here.run("generate", "train --resume --out run");
  CHECK(diverged.status == 1);
  CHECK_THAT(diverged.last_line_of_err(), ContainsSubstring("training diverged: after step 2"));
  CHECK(here.checkpoint("run") == kept);
}
