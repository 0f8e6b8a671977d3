// The program generate from end to end: it trains, scores and writes, and it repeats itself to the last bit.

#include <algorithm>
#include <regex>
#include <sstream>

#include "data/tokenizer.h"
#include "tests/apps/tiny_texts.h"

namespace fs = std::filesystem;

namespace {

const std::regex score_line(
    R"(validation loss \d+\.\d{4} nats  bits \d+\.\d{4}  perplexity \d+\.\d{3}  accuracy [01]\.\d{4}  tokens (\d+))");

/// The number in "loss 1.7741 nats".
double loss_of(const std::string& line) {
  std::istringstream words(line.substr(line.find("loss ") + 5));
  double loss = 0;
  words >> loss;
  return loss;
}

}  // namespace

TEST_CASE("every model trains, is scored and writes", "[generate]") {
  const std::string model =
      GENERATE("gtransformer", "gtransformer --norm pre --activation gelu", "naive", "conv", "ngram");
  CAPTURE(model);
  TinyTexts here;
  const Outcome trained =
      here.must_train("generate", (model == "ngram" ? "" : "-N 150 ") + ("--model " + model) + " --out run");
  const Outcome scored = here.run("generate", "eval --from run");
  REQUIRE(scored.status == 0);
  CHECK(scored.err.empty());

  const std::string line = scored.last_line_of_out();
  CHECK(scored.out == line + "\n");
  std::smatch parts;
  REQUIRE(std::regex_match(line, parts, score_line));
  const auto characters = read_file(here / "text.txt").size();
  const auto validating = characters - static_cast<std::size_t>(0.9 * static_cast<double>(characters));
  CHECK(parts[1] == std::to_string(validating - 1));
  CHECK_THAT(trained.out, ContainsSubstring("\n" + line + "\n"));
  CHECK(loss_of(line) < 2.6);  // of 24 characters, each as probable as any other, it would be 3.2

  CHECK(here.run("generate", "eval --from run -b 3").out == scored.out);
  CHECK(here.run("generate", "eval --from run --data text.txt").out == scored.out);
  CHECK(loss_of(here.run("generate", "eval --from run -b 1 --threads 1").out) == Approx(loss_of(line)).margin(1e-4));

  const Outcome written = here.run("generate", "sample --from run --prompt 'the cat' -n 30 -r 3");
  CHECK(written.status == 0);
  CHECK(written.err.empty());
  CHECK(written.out.starts_with("the cat"));
  CHECK(written.out.size() == 7 + 30 + 1);  // and a line break
  CHECK(here.run("generate", "sample --from run --prompt 'the cat' -n 30 -r 3 --threads 1").out == written.out);
  CHECK(here.run("generate", "sample --from run --prompt 'the cat' -n 30 -r 4").out != written.out);
  const std::string boldest = here.run("generate", "sample --from run -p 'the cat' -n 30 -t 0 -r 3").out;
  CHECK(here.run("generate", "sample --from run -p 'the cat' -n 30 -t 0 -r 4").out == boldest);
  CHECK(here.run("generate", "sample --from run -p 'the cat' -n 30 --top-k 1").out == boldest);
  CHECK(here.run("generate", "sample --from run -n 5").out.size() == 5 + 1);
}

TEST_CASE("norm and activation of a transformer are chosen", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "-N 1 --out run");
  here.must_train("generate", "-N 1 --norm post --activation relu --out same");
  CHECK(here.checkpoint("same") == here.checkpoint("run"));
  for (const char* option : {"--norm pre", "--activation gelu"}) {
    CAPTURE(option);
    here.must_train("generate", std::string("-N 1 --out other ") + option);
    CHECK(here.metrics("other") != here.metrics("run"));
    here.must_train("generate", "--resume -N 2 --out other");
    here.must_train("generate", std::string("-N 2 --out whole ") + option);
    CHECK(here.run("generate", "eval --from other").out == here.run("generate", "eval --from whole").out);
  }
}

TEST_CASE("the test part is set aside, and scored once", "[generate]") {
  TinyTexts here;
  const Outcome trained = here.must_train("generate", "--final --out run");
  const Outcome tested = here.run("generate", "eval --final --from run");
  CHECK(tested.status == 0);
  CHECK_THAT(trained.out, ContainsSubstring("\n" + tested.out));
  CHECK(tested.out.starts_with("test loss "));
  const std::string validated = here.run("generate", "eval --from run").out;
  CHECK(validated != tested.out);
  CHECK_THAT(trained.out, ContainsSubstring("\n" + validated));
}

TEST_CASE("another text is scored as a whole", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "--final --out run");
  const auto scored = [&](const std::string& options) { return here.run("generate", "eval --from run " + options); };
  const std::string text = read_file(here / "text.txt");
  here.write("moved.txt", text);
  CHECK(scored("--data moved.txt").out == scored("").out);  // it is the one that was learnt
  CHECK(scored("--data moved.txt --final").out == scored("--final").out);

  here.write("other.txt", text.substr(0, 70));
  CHECK(scored("--data other.txt").out.starts_with("other.txt loss "));
  CHECK_THAT(scored("--data other.txt").out, ContainsSubstring("tokens 69"));
  CHECK(scored("--data other.txt").err.empty());
  here.write("odd\nname.txt", text.substr(0, 70));
  CHECK(scored("--data 'odd\nname.txt'").out.starts_with("odd?name.txt loss "));
  here.write("two.txt", "at");
  CHECK_THAT(scored("--data two.txt").out, ContainsSubstring("tokens 1\n"));
  const Outcome refused = scored("--data other.txt --final");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--final: other.txt is not the text that run learnt from"));
}

TEST_CASE("line ends and a byte-order mark make no difference", "[generate]") {
  TinyTexts here;
  const std::string plain = read_file(here / "text.txt");
  here.must_train("generate", "--out plain");
  const std::string kept = here.checkpoint("plain");
  const std::string windows = "\xEF\xBB\xBF" + std::regex_replace(plain, std::regex("\n"), "\r\n");
  write_file(here / "text.txt", windows);
  here.must_train("generate", "--out windows");
  CHECK(here.checkpoint("windows") == kept);
}

TEST_CASE("the byte tokenizer reads any file", "[generate]") {
  TinyTexts here;
  std::string bytes;
  reel::Generator generator(1);
  while (bytes.size() < 1000) bytes += static_cast<char>(generator.below(256));
  write_file(here / "text.txt", bytes);
  const Outcome trained = here.must_train("generate", "--tokenizer byte --out run");
  CHECK_THAT(trained.out, ContainsSubstring("900 tokens to train on, 100 to validate, a vocabulary of 256"));
  CHECK_THAT(here.run("generate", "eval --from run").out, ContainsSubstring("tokens 99"));
  const Outcome written = here.run("generate", "sample --from run -n 50 --prompt é");
  CHECK(written.status == 0);
  CHECK_NOTHROW(reel::data::CharTokenizer::train(written.out));  // it is UTF-8, whatever was drawn
}

TEST_CASE("characters that training never saw count as unknown", "[generate]") {
  TinyTexts here;
  const std::string plain = read_file(here / "text.txt");
  write_file(here / "text.txt", plain + "Ünseen");
  here.must_train("generate", "--out run");
  CHECK(here.run("generate", "eval --from run").status == 0);
  const Outcome prompted = here.run("generate", "sample --from run --prompt Ü");
  CHECK(prompted.status == 1);
  CHECK_THAT(prompted.err, ContainsSubstring("'Ü' (U+00DC)"));
}

TEST_CASE("a run that begins with another's weights has its vocabulary, whatever it learns from", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "--out base");
  std::string few;  // characters of those that the other text has
  while (few.size() < 400) few += "the cat ";
  write_file(here / "few.txt", few);
  const Outcome outcome = here.run("generate", "train --from base --data few.txt -N 1 --out run");
  CHECK(outcome.status == 0);
  auto vocabulary = [&](const char* run) { return note(reel::apps::load_run(here / run, "generate"), "vocabulary"); };
  CHECK(vocabulary("run") == vocabulary("base"));
  CHECK(here.run("generate", "eval --from run").out.starts_with("validation loss "));

  write_file(here / "other.txt", few + "Zoë");
  check_refused("generate", here.run("generate", "train --from base --data other.txt --out other"), 1,
                "generate train: other.txt: not in the tokenizer's vocabulary");
  write_file(here / "last.txt", few + "Zoë");  // of which the vocabulary has a token for unknown characters
  here.must_train("generate", "--data last.txt --out knows_unknown");
  check_refused("generate", here.run("generate", "train --from knows_unknown --data text.txt --out other"), 1,
                "text.txt: not in the tokenizer's vocabulary");
  write_file(here / "short.txt", few.substr(0, 1));
  check_refused("generate", here.run("generate", "train --from base --data short.txt --out other"), 1,
                "short.txt is too short");
  here.must_train("generate", "--model ngram --out counted");
  check_refused("generate", here.run("generate", "train --from counted --data text.txt --out other"), 2,
                "--from: a model that counts is done after one pass; start anew");
  CHECK_FALSE(fs::exists(here / "other"));
}

TEST_CASE("without data, Reel's own source is learnt", "[generate]") {
  TinyTexts here;
  const Outcome trained =
      here.run("generate", "train -N 2 -b 2 -C 8 -E 8 -d 1 --lr-warmup 0 --model conv --sample-length 0 --out run");
  CHECK(trained.status == 0);
  CHECK_THAT(trained.out, ContainsSubstring("the built-in corpus: "));

  // It has defaults of its own, which options go before.
  CHECK(here.run("generate", "train -N 1 --lr-warmup 0 --sample-length 0 --depth 1 --out alone").status == 0);
  const auto options = reel::apps::string_pairs_from(note(reel::apps::load_run(here / "alone", "generate"), "options"));
  auto value_of = [&](const char* name) { return *reel::apps::find(options, name); };
  CHECK(value_of("context") == "64");
  CHECK(value_of("heads") == "4");
  CHECK(value_of("num-batches") == "1");
  CHECK(value_of("depth") == "1");

  // A model that counts is quick with a long context, too.
  CHECK(here.run("generate", "train --model ngram --order 1 --sample-length 0 --out counted").status == 0);
  const auto counted =
      reel::apps::string_pairs_from(note(reel::apps::load_run(here / "counted", "generate"), "options"));
  CHECK(*reel::apps::find(counted, "context") == "256");
}

TEST_CASE("a text of one line has a prompt to start from, too", "[generate]") {
  TinyTexts here;
  write_file(here / "text.txt", std::regex_replace(read_file(here / "text.txt"), std::regex("\n"), " "));
  here.must_train("generate", "--out run");
  CHECK(here.run("generate", "sample --from run -n 10").out.size() == 11);
  CHECK_THAT(here.report("run"), ContainsSubstring("What the model writes after the first token of its vocabulary") &&
                                     !ContainsSubstring("line break"));
  CHECK_THAT(std::regex_replace(here.run("generate", "sample -h").out, std::regex("\\s+"), " "),
             ContainsSubstring("without it, a line break, or the first token where the vocabulary has none"));
}

#ifdef __linux__
TEST_CASE("memory does not grow with the steps", "[generate]") {
  if (sanitized) {
    WARN("not tested: a sanitizer keeps what is freed, so that memory does grow");
    return;
  }
  TinyTexts here;
  // Two looks at the most that one process ever held: after the first hundred steps, and a thousand later.
  const Outcome outcome = here.shell(
      "\"$bin/generate\" train --data text.txt -N 100000 -b 4 -C 16 -E 16 -H 2 -d 1 --dropout 0.1 --test-every 50 "
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

TEST_CASE("of what validates, the first tokens will do", "[generate]") {
  TinyTexts here;
  auto trained = [&](const std::string& options) { return here.must_train("generate", options + " --out run").out; };
  const std::string some = trained("--validation-tokens 40"), scored = here.run("generate", "eval --from run").out;
  CHECK_THAT(some, ContainsSubstring("  tokens 40\n") && !ContainsSubstring("  tokens 300\n"));
  const std::string all = trained("--validation-tokens 1000");
  CHECK_THAT(all, ContainsSubstring("  tokens 300\n"));
  CHECK_THAT(all, ContainsSubstring(scored));  // eval scores all in any case
}

TEST_CASE("several samples go on from the same prompt", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  const std::string one = here.run("generate", "sample --from run --prompt the -n 9").out;
  const std::string two = here.run("generate", "sample --from run --prompt the -n 9 --samples 2").out;
  REQUIRE(two.starts_with(one + "---\nthe"));
  CHECK(two.size() == 2 * one.size() + 4);
  CHECK(two.substr(one.size() + 4) != one);
}
