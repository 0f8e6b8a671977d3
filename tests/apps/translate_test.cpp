// The program translate from end to end: it trains, scores and translates, and it repeats itself to the last bit.

#include <cmath>
#include <regex>
#include <sstream>

#include "tests/apps/tiny_texts.h"

using namespace reel::apps;

namespace {

const std::string loss_line =
    R"( loss (\d+\.\d{4}) nats  bits \d+\.\d{4}  perplexity (\d+\.\d{3})  accuracy ([01]\.\d{4})  tokens (\d+)\n)";
const std::string bleu_line =
    R"( BLEU (\d+\.\d\d) \(of words as split here, lower case; (.+)\)  exact ([01]\.\d{4})  sentences (\d+)\n)";

/// Options that let the tiny model learn its pairs.
const std::string well_trained = " -e 60 --schedule cosine --dropout 0 ";

/// How many words and ends a file's lines have.
std::size_t words_and_ends(const std::string& text) {
  return static_cast<std::size_t>(
             std::count_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; })) +
         static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("every translator trains, is scored and translates", "[translate]") {
  const std::string options = GENERATE("", "--positions learned --norm pre --tie --label-smoothing 0.1",
                                       "--no-embedding-norm --batches bucketed", "--model rnn");
  CAPTURE(options);
  TinyTexts here;
  const Outcome trained = here.must_train("translate", options + well_trained + "--out run");
  CHECK_THAT(trained.out, ContainsSubstring("pairs: 60 pairs to train on, 12 to validate, vocabularies of 9 and 9"));
  CHECK(trained.last_line_of_out().starts_with("saved run/checkpoint.safetensors"));
  CHECK(std::regex_search(trained.out, std::regex("\nafter step 480  validation" + loss_line.substr(0, 1) + "loss ")));
  CHECK(std::regex_search(trained.out, std::regex("\n  source     .+\n  reference  .+\n  model      .*\n")));
  std::smatch last;
  REQUIRE(std::regex_search(trained.out, last,
                            std::regex("\nvalidation" + loss_line + "validation" + bleu_line + "saved ")));
  CHECK(last[4] == std::to_string(words_and_ends(read_file(here / "pairs/val.en"))));
  CHECK(last[6] == "greedy");
  CHECK(last[8] == "12");

  const Outcome scored = here.run("translate", "eval --from run");
  INFO(scored.err);
  REQUIRE(scored.status == 0);
  std::smatch parts;
  REQUIRE(std::regex_match(
      scored.out, parts,
      std::regex("test_a" + loss_line + "test_a" + bleu_line + "test_b" + loss_line + "test_b" + bleu_line)));
  CHECK(parts[8] == "9");
  CHECK(parts[16] == "5");
  CHECK(std::exp(std::stod(parts[1])) == Approx(std::stod(parts[2])).margin(2e-3));
  CHECK(std::stod(parts[7]) > 0.6);
  CHECK(here.run("translate", "eval --from run --data pairs --threads 1").out == scored.out);
  CHECK_THAT(here.run("translate", "eval --from run --beam 3").out, ContainsSubstring("lower case; beam 3)"));
  // The test parts are all it takes.
  REQUIRE(here.shell("mkdir tests && cp pairs/test_b.* tests").status == 0);
  CHECK(here.run("translate", "eval --from run --data tests").out == scored.out.substr(scored.out.find("test_b")));

  // Each sentence by itself is what it was among the others.
  const Outcome translated = here.run("translate", "predict --from run --beam 1 <pairs/test_a.de");
  CHECK(translated.status == 0);
  CHECK(translated.err.empty());
  REQUIRE(count_lines(translated.out) == 9);
  std::istringstream lines(translated.out), references(read_file(here / "pairs/test_a.en")),
      sources(read_file(here / "pairs/test_a.de"));
  std::string line, reference, source, arguments;
  int exact = 0;
  while (std::getline(lines, line) && std::getline(references, reference) && std::getline(sources, source)) {
    exact += line == reference ? 1 : 0;
    arguments += " '" + source + "'";
  }
  CHECK(exact == std::lround(9 * std::stod(parts[7])));
  CHECK(here.run("translate", "predict --from run --beam 1" + arguments).out == translated.out);
  const Outcome beam = here.run("translate", "predict --from run" + arguments);
  CHECK(count_lines(beam.out) == 9);
  CHECK(here.run("translate", "predict --from run --threads 1" + arguments).out == beam.out);
}

TEST_CASE("--final scores the test parts in the end", "[translate]") {
  TinyTexts here;
  const Outcome trained = here.must_train("translate", "--final --out run");
  CHECK_THAT(trained.out, ContainsSubstring("\n" + here.run("translate", "eval --from run").out));
}

TEST_CASE("languages go by the files' endings", "[translate]") {
  TinyTexts here;
  here.must_train("translate", well_trained + "--source en --target de --out run");
  CHECK(here.run("translate", "predict --from run one").out == "eins\n");
}

TEST_CASE("with --cased, capitals are learnt, written and scored", "[translate]") {
  TinyTexts here;
  for (const char* part : {"train", "val", "test_a", "test_b"}) {
    const std::string file = "pairs/" + std::string(part) + ".en";
    here.write(file, std::regex_replace(read_file(here / file), std::regex("one"), "One"));
  }
  const Outcome trained = here.must_train("translate", "--cased --out run" + well_trained);
  CHECK_THAT(trained.out, ContainsSubstring("(of words as split here, cased; greedy)"));
  CHECK_THAT(here.run("translate", "eval --from run").out, ContainsSubstring("(of words as split here, cased; "));
  CHECK_THAT(here.run("translate", "predict --from run eins").out, ContainsSubstring("One"));
  check_refused("translate", here.train("translate", "--resume --out run --no-cased"), 2,
                "--cased cannot change within a run");
  check_refused("translate", here.train("translate", "--from run --out other --no-cased"), 2,
                "--cased: the weights in run were made with --cased");
}

TEST_CASE("a sentence that is too long is cut", "[translate]") {
  TinyTexts here;
  const Outcome trained = here.must_train("translate", "-M 1 --out run");
  CHECK(std::regex_search(trained.out, std::regex("12 to validate, \\d+ of all cut at --max 1, vocabularies of ")));
  CHECK(std::regex_search(trained.out, std::regex("validation loss .*  \\d+ cut at --max 1\n")));
  CHECK(std::regex_search(here.run("translate", "eval --from run").out,
                          std::regex("tokens \\d+  \\d+ cut at --max 1\n")));

  const Outcome whole = here.run("translate", "predict --from run eins");
  const Outcome cut = here.run("translate", "predict --from run 'eins zwei drei'");
  CHECK(cut.out == whole.out);
  CHECK(whole.err.empty());
  CHECK(cut.err == "translate predict: \"eins zwei drei\" is longer than --max 1, and cut there\n");
}

TEST_CASE("sentences that are shown stay on their line", "[translate]") {
  TinyTexts here;
  std::string sources, targets;
  for (int i = 0; i < 4; ++i) {
    sources += "eins\x1B[2J zwei\n";
    targets += "one\u202E two\n";
  }
  here.write("pairs/val.de", sources);
  here.write("pairs/val.en", targets);
  const Outcome trained = here.must_train("translate", "--out run");
  CHECK_THAT(trained.out, ContainsSubstring("\n  source     eins [2J zwei\n  reference  one  two\n"));
  CHECK_THAT(here.report("run"), ContainsSubstring("eins [2J zwei") && ContainsSubstring("one  two"));
}

TEST_CASE("sentences need no test part until the end of a --final run", "[translate]") {
  TinyTexts here;
  for (const auto& file : std::filesystem::directory_iterator(here / "pairs")) {
    if (file.path().filename().string().starts_with("test")) std::filesystem::remove(file.path());
  }
  here.must_train("translate", "--out run");
  check_refused("translate", here.train("translate", "--final --out other"), 1,
                "pairs: there is no file test*.de; need one or more, and test*.en");
}

TEST_CASE("a line that is empty stays one", "[translate]") {
  TinyTexts here;
  here.must_train("translate", well_trained + "--out run");
  here.write("lines.txt", "eins\n\nzwei\r\n \n?! unbekannt\ndrei");
  const Outcome translated = here.run("translate", "predict --from run <lines.txt");
  CHECK(translated.status == 0);
  CHECK(translated.out.starts_with("one\n\ntwo\n\n"));
  CHECK(translated.out.ends_with("\nthree\n"));
  CHECK(count_lines(translated.out) == 6);
  CHECK(count_lines(translated.err) == 1);
  CHECK_THAT(translated.err, ContainsSubstring("of \"?! unbekannt\" the model knows no word"));
  CHECK(here.run("translate", "predict --from run </dev/null").out.empty());
}

TEST_CASE("without data, sentences from a grammar are learnt, by a small model", "[translate]") {
  TinyTexts here;
  const Outcome trained = here.run("translate", "train -e 1 -E 8 -d 1 --hidden 8 -b 200 -M 25 --out run");
  INFO(trained.err);
  REQUIRE(trained.status == 0);
  CHECK_THAT(trained.out, ContainsSubstring("built-in sentences: 10000 pairs to train on, 1000 to validate"));
  const Checkpoint small = load_checkpoint(here / "run/checkpoint.safetensors", "translate");
  CHECK(option_of(small, "embedding") == "8");  // as the command line says
  CHECK(option_of(small, "heads") == "4");
  CHECK(option_of(small, "source") == "en");
  here.must_train("translate", "--out real");
  const Checkpoint real = load_checkpoint(here / "real/checkpoint.safetensors", "translate");
  CHECK(option_of(real, "source") == "de");
  CHECK(option_of(real, "schedule") == "invsqrt");
  CHECK(option_of(real, "dropout") == "0.1");
}
