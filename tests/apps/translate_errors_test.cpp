// The program translate where something is wrong: one line that says what, a status that is not 0, and nothing lost.

#include "tests/apps/tiny_texts.h"

using namespace reel::apps;
namespace fs = std::filesystem;

namespace {

void check_refused(const Outcome& outcome, int status, const std::string& reason) {
  check_refused("translate", outcome, status, reason);
}

}  // namespace

TEST_CASE("pairs that cannot be learnt from are refused", "[translate]") {
  TinyTexts here;
  auto refused = [&](const std::string& file, const std::string& text, const std::string& reason) {
    const std::string kept = read_file(here / file);
    here.write(file, text);
    check_refused(here.train("translate", "--final --out run"), 1, reason);
    here.write(file, kept);
  };
  refused("pairs/train.en", "", "pairs/train.en: is empty");
  refused("pairs/train.en", "one\n\nthree\n", "pairs/train.en, line 2: is empty; need a sentence on every line");
  refused("pairs/val.de", "eins\nzwei\n", "pairs/val.en, line 3: has no counterpart; pairs/val.de ends after 2 lines");
  refused("pairs/test_b.en", "one\n", "pairs/test_b.de, line 2: has no counterpart");
  refused("pairs/train.de", "eins\nzw\xFFi\n", "pairs/train.de: not UTF-8 at byte 7, line 2");
  check_refused(here.train("translate", "--out run --min-count 1000"), 1,
                "the training part in .de: WordTokenizer: no word occurs 1000 times or more");
  CHECK_FALSE(fs::exists(here / "run"));
}

TEST_CASE("translate: folders of another layout are refused", "[translate]") {
  TinyTexts here;
  auto refused = [&](const std::string& data, const std::string& reason) {
    check_refused(here.train("translate", "--out run --data " + data), 1, reason);
  };
  refused("missing", "missing: there is no such folder");
  refused("pairs/train.de", "pairs/train.de: is no folder; name the one that the files are in");
  refused("reviews", "reviews: there is no train.de; parts are train, val and test*");
  refused("pairs --target fr", "pairs: there is no train.fr;");
  fs::remove(here / "pairs/test_b.en");
  refused("pairs --final", "pairs: there is no test_b.en;");
  fs::remove(here / "pairs/val.de");
  refused("pairs", "pairs: there is no val.de;");
  CHECK_FALSE(fs::exists(here / "run"));
}

TEST_CASE("translate: a folder without tests cannot be scored", "[translate]") {
  TinyTexts here;
  here.must_train("translate", "--out run");
  check_refused(here.run("translate", "eval --from run --data reviews"), 1, "reviews: there is no file test*.de");
  fs::remove(here / "pairs/test_b.en");
  check_refused(here.run("translate", "eval --from run"), 1, "pairs: there is no test_b.en;");
}

TEST_CASE("translate: wrong command lines are refused", "[translate]") {
  TinyTexts here;
  check_refused(here.run("translate", ""), 2, "a verb is missing");
  check_refused(here.run("translate", "sample"), 2, "there is no verb \"sample\"");
  for (const char* languages : {"--source de", "--target fr", "--source de --target en"}) {
    check_refused(here.run("translate", std::string("train -e 1 -E 8 -d 1 --max 2 ") + languages), 2,
                  "--source and --target: the built-in sentences are English to German; name others with --data");
  }
  check_refused(here.train("translate", "--source de --target de"), 2, "--source and --target: both are de");
  check_refused(here.train("translate", "-H 3"), 2, "--heads: 3 cannot share out the --embedding of 16");
  check_refused(here.train("translate", "-H 3 --model rnn"), 2,
                "--heads: only for --model transformer, not rnn; leave it out");
  check_refused(here.train("translate", "--no-embedding-norm --norm pre"), 2,
                "--embedding-norm: only for --norm post, not pre; leave it out");
  check_refused(here.run("translate", "train --model rnn --hidden 8"), 2, "--hidden: only for --model transformer");
  check_refused(here.train("translate", "--model lstm"), 2, "--model: \"lstm\" is none of transformer, rnn");
  check_refused(here.train("translate", "--label-smoothing 1"), 2, "--label-smoothing: 1 is out of range");
  check_refused(here.train("translate", "--positions none"), 2, "--positions: \"none\" is none of sinusoidal, learned");
  check_refused(here.run("translate", "predict --beam 0 eins"), 2, "--beam: 0 is out of range");
  check_refused(here.run("translate", "predict --length-penalty -1 eins"), 2, "--length-penalty: -1 is out of range");
  for (const char* greedy : {"eval --length-penalty 1", "predict --beam 1 --length-penalty 1 eins"}) {
    check_refused(here.run("translate", greedy), 2, "--length-penalty: only for a beam of 2 or more, not --beam 1");
  }
  check_refused(here.run("translate", "eval --from missing"), 1, "missing/checkpoint.safetensors: there is no such");
  CHECK_FALSE(fs::exists(here / "runs"));
}

TEST_CASE("translate: a run is resumed as it was begun, or not at all", "[translate]") {
  TinyTexts here;
  here.must_train("translate", "--out run");
  const std::string kept = here.checkpoint("run"), metrics = here.metrics("run");
  for (const char* option : {"-E 8", "-H 4", "-M 4", "-b 4", "--dropout 0.3", "--norm pre", "--no-embedding-norm",
                             "--tie", "--batches bucketed", "--source en"}) {
    const Outcome changed = here.run("translate", std::string("train --resume --out run -e 4 ") + option);
    check_refused(changed, 2, "cannot change within a run; leave it out with --resume");
  }
  CHECK_THAT(here.run("translate", "train --resume --out run").out,
             ContainsSubstring("The run has taken all its steps"));
  check_refused(here.run("translate", "train --resume --out none"), 1, "there is no such file");
  here.write("pairs/train.de", "eins\n");
  here.write("pairs/train.en", "one\n");
  check_refused(here.run("translate", "train --resume --out run -e 40"), 1, "the data are no longer those");
  CHECK(here.checkpoint("run") == kept);
  CHECK(here.metrics("run") == metrics);
}

TEST_CASE("translate: a model's weights are of its languages", "[translate]") {
  TinyTexts here;
  here.must_train("translate", "--source en --target de --out base");
  const Outcome outcome = here.run("translate", "train --from base --data pairs -e 1 --out run");
  CHECK(outcome.status == 0);
  const reel::apps::Checkpoint run = reel::apps::load_run(here / "run", "translate");
  CHECK(option_of(run, "source") == "en");
  CHECK(option_of(run, "target") == "de");
  check_refused(here.run("translate", "train --from base --data pairs --source de --target en --out other"), 2,
                "--source: the weights in base were made with --source en; leave it out with --from");
  here.must_train("translate", "--out other_way");
  check_refused(here.run("translate", "train --from other_way --out other"), 2,
                "--source and --target: the built-in sentences are English to German; name others with --data");
  CHECK_FALSE(fs::exists(here / "other"));
}

TEST_CASE("sentences that are not UTF-8 or empty are not translated", "[translate]") {
  TinyTexts here;
  here.must_train("translate", "--out run");
  here.write("lines.txt", "eins\nzwei \xC3\nnever read\n");
  const Outcome lines = here.run("translate", "predict --from run <lines.txt");
  CHECK(lines.status == 1);
  CHECK(count_lines(lines.out) == 1);
  CHECK(lines.err == "translate predict: standard input, line 2: is not UTF-8\n");
  check_refused(here.run("translate", "predict --from run \"$(printf 'a\\377')\""), 2, "SENTENCE 1 is not UTF-8");
  check_refused(here.run("translate", "predict --from run ''"), 2, "SENTENCE 1 is empty");
}

TEST_CASE("translate: a checkpoint that does not fit is refused", "[translate]") {
  TinyTexts here;
  here.must_train("translate", "--out run");
  const fs::path file = here / "run/checkpoint.safetensors";
  const Checkpoint whole = load_checkpoint(file, "translate");
  auto check_misfit = [&](auto change, const std::string& reason) {
    Checkpoint checkpoint = whole;
    change(checkpoint);
    save_checkpoint(file, checkpoint);
    check_refused(here.run("translate", "predict --from run eins"), 1, reason);
  };
  check_misfit([](Checkpoint& c) { replace_option(c, "embedding", "18"); }, "does not fit");
  check_misfit([](Checkpoint& c) { replace_option(c, "heads", "3"); }, "3 heads do not divide the width of 16");
  check_misfit([](Checkpoint& c) { replace_option(c, "model", "rnn"); }, "does not fit");
  const std::string rules = "lower case, punctuation kept\n";
  check_misfit([&](Checkpoint& c) { replace_note(c, "source vocabulary", rules + "eins"); }, "src_word_emb.weight");
  check_misfit([&](Checkpoint& c) { replace_note(c, "target vocabulary", rules + "one"); }, "trg_word_emb.weight");
  check_misfit([&](Checkpoint& c) { replace_note(c, "target vocabulary", rules + "one\none"); }, "is there twice");
  check_misfit(
      [](Checkpoint& c) { std::erase_if(c.notes, [](const auto& n) { return n.first == "source vocabulary"; }); },
      "no entry \"source vocabulary\"");
  here.must_train("classify", "--out run");
  check_refused(here.run("translate", "predict --from run eins"), 1, "was written by classify, not by translate");
  check_refused(here.run("translate", "train --resume --out run"), 1, "was written by classify, not by translate");
}
