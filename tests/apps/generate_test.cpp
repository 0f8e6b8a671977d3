// The program generate from end to end: it trains, scores and writes, and it repeats itself to the last bit.

#include <algorithm>
#include <regex>
#include <sstream>

#include "data/tokenizer.h"
#include "tests/apps/generate_program.h"

namespace fs = std::filesystem;

namespace {

const std::regex score_line(
    R"(loss \d+\.\d{4} nats  bits \d+\.\d{4}  perplexity \d+\.\d{3}  accuracy [01]\.\d{4}  tokens (\d+))");

int count_lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

/// The number in "loss 1.7741 nats".
double loss_of(const std::string& line) {
  std::istringstream words(line.substr(line.find("loss ") + 5));
  double loss = 0;
  words >> loss;
  return loss;
}

}  // namespace

TEST_CASE("every model trains, is scored and writes", "[generate]") {
  const std::string model = GENERATE("gtransformer", "naive", "conv", "ngram");
  CAPTURE(model);
  Workplace here;
  const Outcome trained = here.must_train("-N 150 --model " + model + " --out run");
  const Outcome scored = here.generate("eval --from run");
  REQUIRE(scored.status == 0);
  CHECK(scored.err.empty());

  const std::string line = scored.last_line_of_out();
  CHECK(scored.out == line + "\n");
  std::smatch parts;
  REQUIRE(std::regex_match(line, parts, score_line));
  const auto characters = read_file(here / "text.txt").size();
  const auto validating = characters - static_cast<std::size_t>(0.9 * static_cast<double>(characters));
  CHECK(parts[1] == std::to_string(validating - 1));
  CHECK_THAT(trained.out, ContainsSubstring("\nvalidation " + line + "\n"));
  CHECK(loss_of(line) < 2.6);  // of 24 characters, each as probable as any other, it would be 3.2

  CHECK(here.generate("eval --from run -b 3").out == scored.out);
  CHECK(here.generate("eval --from run --data text.txt").out == scored.out);
  CHECK(loss_of(here.generate("eval --from run -b 1 --threads 1").out) == Approx(loss_of(line)).margin(1e-4));

  const Outcome written = here.generate("sample --from run --prompt 'the cat' -n 30 -r 3");
  CHECK(written.status == 0);
  CHECK(written.err.empty());
  CHECK(written.out.starts_with("the cat"));
  CHECK(written.out.size() == 7 + 30 + 1);  // and a line break
  CHECK(here.generate("sample --from run --prompt 'the cat' -n 30 -r 3 --threads 1").out == written.out);
  CHECK(here.generate("sample --from run --prompt 'the cat' -n 30 -r 4").out != written.out);
  const std::string boldest = here.generate("sample --from run -p 'the cat' -n 30 -t 0 -r 3").out;
  CHECK(here.generate("sample --from run -p 'the cat' -n 30 -t 0 -r 4").out == boldest);
  CHECK(here.generate("sample --from run -p 'the cat' -n 30 --top-k 1").out == boldest);
  CHECK(here.generate("sample --from run -n 5").out.size() == 5 + 1);
}

TEST_CASE("a run leaves its numbers in metrics.csv", "[generate]") {
  Workplace here;
  const Outcome trained = here.must_train("-N 20 --test-every 8 --out run");
  std::istringstream file(here.metrics("run"));
  std::string row;
  std::getline(file, row);
  CHECK(row == "step,loss,learn_rate,gradient_norm,validation_loss,validation_accuracy");
  for (int step = 1; step <= 20; ++step) {
    REQUIRE(std::getline(file, row));
    CHECK(row.starts_with(std::to_string(step) + ","));
    CHECK(row.ends_with(",,") == (step != 8 && step != 16 && step != 20));
  }
  CHECK_FALSE(std::getline(file, row));
  CHECK_THAT(trained.out, ContainsSubstring("--- before training ---") && ContainsSubstring("--- after step 16 ---"));
}

TEST_CASE("the test part is set aside, and scored once", "[generate]") {
  Workplace here;
  const Outcome trained = here.must_train("--final --out run");
  const Outcome tested = here.generate("eval --final --from run");
  CHECK(tested.status == 0);
  CHECK_THAT(trained.out, ContainsSubstring("\ntest " + tested.out));
  const std::string validated = here.generate("eval --from run").out;
  CHECK(validated != tested.out);
  CHECK_THAT(trained.out, ContainsSubstring("\nvalidation " + validated));
}

TEST_CASE("the same seed gives the same bits with any number of threads", "[generate]") {
  Workplace here;
  const std::string options =
      GENERATE("", "--model naive --accumulate 3 --optimizer sgd --dropout 0.2",
               "--model conv --optimizer adamw --weight-decay 0.1 --dropout 0.1", "--model ngram");
  CAPTURE(options);
  const Outcome first = here.must_train(options + " --threads 1 --out run-1");
  for (const char* again : {"--threads 1 --out again", "--threads 2 --out run-2", "--threads 3 --out run-3"}) {
    here.must_train(options + " " + again);
    const std::string folder = std::string(again).substr(std::string(again).rfind(' ') + 1);
    CHECK(here.checkpoint(folder) == here.checkpoint("run-1"));
    CHECK(here.metrics(folder) == here.metrics("run-1"));
  }
  if (options == "--model ngram") return;
  here.must_train(options + " --out other -r 2");
  CHECK(here.metrics("other") != here.metrics("run-1"));
}

TEST_CASE("a run in two parts is the run in one", "[generate]") {
  Workplace here;
  const std::string options = " --dropout 0.1 --accumulate 2 --test-every 10 ";
  here.must_train(options + "-N 40 --out whole");
  here.must_train(options + "-N 20 --out parts");
  const Outcome second = here.generate("train --resume --out parts -N 40");
  INFO(second.err);
  REQUIRE(second.status == 0);
  CHECK_THAT(second.out, ContainsSubstring("resumed after step 20") && !ContainsSubstring("before training"));
  CHECK(here.checkpoint("parts") == here.checkpoint("whole"));
  CHECK(here.metrics("parts") == here.metrics("whole"));
}

TEST_CASE("an interrupted run goes on as if nothing had been", "[generate]") {
  Workplace here;
  const std::string signal = GENERATE("INT", "TERM");
  const std::string options =
      "train --data text.txt -N 2000 -b 4 -C 16 -E 16 -H 2 -d 1 --schedule cosine --lr-warmup 40 "
      "--optimizer adamw --dropout 0.1 --test-every 100 --sample-length 5 ";
  REQUIRE(here.generate(options + "--out whole").status == 0);
  const Outcome stopped = here.shell("$generate " + options +
                                     "--out parts & "
                                     "until [ -e parts/metrics.csv ] && [ $(wc -l <parts/metrics.csv) -gt 30 ]; "
                                     "do kill -0 $! || exit 99; done; kill -" +
                                     signal + " $!; wait $!");
  CHECK(stopped.status == (signal == "INT" ? 130 : 143));
  CHECK_THAT(stopped.last_line_of_out(), ContainsSubstring("Stopped after step ") &&
                                             ContainsSubstring("saved. To go on: generate train --resume --out parts"));
  const int steps = count_lines(here.metrics("parts")) - 1;
  CHECK(steps >= 30);
  CHECK(steps < 2000);
  CHECK(here.checkpoint("parts") != here.checkpoint("whole"));

  // As one does it: the same line once more, with --resume.
  const Outcome resumed = here.generate(options + "--out parts --resume");
  INFO(resumed.err);
  REQUIRE(resumed.status == 0);
  CHECK(here.checkpoint("parts") == here.checkpoint("whole"));
  CHECK(here.metrics("parts") == here.metrics("whole"));
}

TEST_CASE("a new run keeps what an earlier one left in its folder", "[generate]") {
  Workplace here;
  here.must_train("--out run -r 1");
  const std::string first = here.checkpoint("run"), first_metrics = here.metrics("run");
  const Outcome again = here.must_train("--out run -r 2");
  CHECK_THAT(again.out, ContainsSubstring("An earlier run's checkpoint is kept as run/previous.safetensors"));
  const std::string second = here.checkpoint("run");
  CHECK(second != first);
  CHECK(read_file(here / "run/previous.safetensors") == first);
  CHECK(read_file(here / "run/previous.csv") == first_metrics);

  here.must_train("--out run -r 3 --model ngram");
  CHECK(read_file(here / "run/previous.safetensors") == first);
  CHECK(read_file(here / "run/previous-2.safetensors") == second);

  // One that dies before its first step changes nothing.
  const std::string third = here.checkpoint("run");
  CHECK(here.train("--out run --data missing.txt").status == 1);
  CHECK(here.train("--out run > /dev/full").status == 1);
  CHECK(here.checkpoint("run") == third);
  CHECK_FALSE(fs::exists(here / "run/previous-3.safetensors"));
}

TEST_CASE("a negative seed is drawn, shown and repeatable", "[generate]") {
  Workplace here;
  const Outcome drawn = here.must_train("-r -1 --out drawn");
  std::smatch seed;
  REQUIRE(std::regex_search(drawn.out, seed, std::regex("seed (\\d+)")));
  here.must_train("--out again -r " + seed[1].str());
  CHECK(here.checkpoint("again") == here.checkpoint("drawn"));
}

TEST_CASE("line ends and a byte-order mark make no difference", "[generate]") {
  Workplace here;
  const std::string plain = read_file(here / "text.txt");
  here.must_train("--out plain");
  const std::string kept = here.checkpoint("plain");
  const std::string windows = "\xEF\xBB\xBF" + std::regex_replace(plain, std::regex("\n"), "\r\n");
  write_file(here / "text.txt", windows);
  here.must_train("--out windows");
  CHECK(here.checkpoint("windows") == kept);
}

TEST_CASE("the byte tokenizer reads any file", "[generate]") {
  Workplace here;
  std::string bytes;
  reel::Generator generator(1);
  while (bytes.size() < 1000) bytes += static_cast<char>(generator.below(256));
  write_file(here / "text.txt", bytes);
  const Outcome trained = here.must_train("--tokenizer byte --out run");
  CHECK_THAT(trained.out, ContainsSubstring("900 tokens to train on, 100 to validate, a vocabulary of 256"));
  CHECK_THAT(here.generate("eval --from run").out, ContainsSubstring("tokens 99"));
  const Outcome written = here.generate("sample --from run -n 50 --prompt é");
  CHECK(written.status == 0);
  CHECK_NOTHROW(reel::data::CharTokenizer::train(written.out));  // it is UTF-8, whatever was drawn
}

TEST_CASE("characters that training never saw count as unknown", "[generate]") {
  Workplace here;
  const std::string plain = read_file(here / "text.txt");
  write_file(here / "text.txt", plain + "Ünseen");
  here.must_train("--out run");
  CHECK(here.generate("eval --from run").status == 0);
  const Outcome prompted = here.generate("sample --from run --prompt Ü");
  CHECK(prompted.status == 1);
  CHECK_THAT(prompted.err, ContainsSubstring("'Ü' (U+00DC)"));
}

TEST_CASE("without data, Reel's own source is learnt", "[generate]") {
  Workplace here;
  const Outcome trained = here.generate("train -N 2 -b 2 -C 8 -E 8 -H 1 -d 1 --model conv --sample-length 0 --out run");
  CHECK(trained.status == 0);
  CHECK_THAT(trained.out, ContainsSubstring("the built-in corpus: "));
}

TEST_CASE("a text of one line has a prompt to start from, too", "[generate]") {
  Workplace here;
  write_file(here / "text.txt", std::regex_replace(read_file(here / "text.txt"), std::regex("\n"), " "));
  here.must_train("--out run");
  CHECK(here.generate("sample --from run -n 10").out.size() == 11);
}

TEST_CASE("help says what there is", "[generate]") {
  Workplace here;
  for (const char* verb : {"train", "eval", "sample"}) {
    const Outcome page = here.generate(std::string(verb) + " -h");
    CHECK(page.status == 0);
    CHECK(page.err.empty());
    CHECK(page.out.starts_with("usage: generate " + std::string(verb) + " [options]\n"));
    CHECK_THAT(page.out, ContainsSubstring("--threads N"));
  }
}

#ifdef __linux__
TEST_CASE("memory does not grow with the steps", "[generate]") {
  if (sanitized) return;
  Workplace here;
  // Two looks at the most that one process ever held: after the first hundred steps, and a thousand later.
  const Outcome outcome = here.shell(
      "$generate train --data text.txt -N 100000 -b 4 -C 16 -E 16 -H 2 -d 1 --dropout 0.1 --test-every 50 "
      "--sample-length 5 --out run & "
      "look() { until [ -e run/metrics.csv ] && [ $(wc -l <run/metrics.csv) -gt $1 ]; "
      "do kill -0 $! || exit 99; sleep 0.02; done; grep VmHWM /proc/$!/status >&2; }; "
      "look 100; look 1100; kill -INT $!; wait $!");
  REQUIRE(outcome.status == 130);
  std::vector<long> kilobytes;
  std::istringstream lines(outcome.err);
  for (std::string word; lines >> word;) {
    if (word != "VmHWM:") continue;
    kilobytes.emplace_back();
    lines >> kilobytes.back();
  }
  REQUIRE(kilobytes.size() == 2);
  CHECK(kilobytes[0] > 1000);
  CHECK(kilobytes[1] < kilobytes[0] + 1000);
}
#endif
