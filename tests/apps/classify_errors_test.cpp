// The program classify where something is wrong: one line that says what, a status that is not 0, and nothing lost.

#include <regex>

#include "tests/apps/tiny_texts.h"

using namespace reel::apps;
namespace fs = std::filesystem;

namespace {

void check_refused(const Outcome& outcome, int status, const std::string& reason) {
  check_refused("classify", outcome, status, reason);
}

}  // namespace

TEST_CASE("reviews that cannot be learnt from are refused", "[classify]") {
  TinyTexts here;
  auto refused = [&](const std::string& name, const std::string& table, const std::string& reason) {
    here.write(name, table);
    check_refused(here.train("classify", "--out run --data " + name), 1, reason);
  };
  check_refused(here.train("classify", "--out run --data missing.tsv"), 1, "missing.tsv: there is no such file");
  refused("empty.tsv", "", "empty.tsv: is empty");
  refused("names.tsv", "label\ttext\n", "names.tsv: has no rows but the one with the columns' names");
  refused("short.tsv", "label\ttext\ngood\twarm tea\nbad\n", "short.tsv, line 3: 1 columns; need 2");
  refused("unlabelled.tsv", "label\ttext\ngood\twarm tea\n\tgrey day\n", "unlabelled.tsv, line 3: the label is empty");
  refused("blank.tsv", "label\ttext\ngood\twarm tea\n \tgrey day\n", "blank.tsv, line 3: the label is empty");
  refused("spaces.tsv", "label\ttext\ngood\twarm\n good\u00A0\tbright\n", "every example is of the class 'good'");
  refused("silent.tsv", "label\ttext\ngood\t \nbad\tgrey day\n", "silent.tsv, line 2: the text is empty");
  refused("one.tsv", "label\ttext\ngood\twarm\ngood\tbright\n", "every example is of the class 'good'");
  refused("other.tsv", "label\treview\ngood\twarm\nbad\tcold\n", "no column is named 'text' here but label, review");
  refused("bytes.tsv", "label\ttext\ngood\twarm\nbad\tc\xFFld\n", "bytes.tsv: not UTF-8 at byte 26, line 3");
  refused("quote.csv", "label,text\ngood,\"warm\nbad,cold\n", "quote.csv, line 2: a quote is opened and never closed");
  refused("wide/train.csv", "label,text\ngood,warm, but not hot\nbad,cold\n", "train.csv, line 2: 3 columns; need 2");
  here.write("loose/reviews.csv", "label,text\ngood,warm\nbad,cold\n");
  check_refused(here.train("classify", "--out run --data loose --label-column 1"), 1, "loose: holds no labelled texts");
  check_refused(here.train("classify", "--out run --text-column 3"), 1, "there is no column 3; the columns are 1 to 2");
  check_refused(here.train("classify", "--out run --text-column label"), 1, "the label and the text are both column 1");
  check_refused(here.train("classify", "--out run --split 0.001"), 2,
                "--split: 0.001 of 60 texts leaves none to train on");
  check_refused(here.train("classify", "--out run --min-count 1000"), 1, "no word occurs 1000 times or more");
  check_refused(here.train("classify", "--out run --final --data reviews/train.tsv"), 1,
                "--final: reviews/train.tsv has no test part");
  CHECK_FALSE(fs::exists(here / "run"));
}

TEST_CASE("a test part of other classes is refused where it is read", "[classify]") {
  TinyTexts here;
  here.write("reviews/test.tsv", "label\ttext\ngood\twarm\nbda\tcold\n");
  const std::string reason = "test.tsv, line 3: the label 'bda' is not one of the classes: bad, good";
  check_refused(here.train("classify", "--final --out run"), 1, reason);
  here.must_train("classify", "--out run");
  check_refused(here.run("classify", "eval --from run"), 1, reason);
  here.write("reviews/test.tsv", tiny_reviews(4, 1));
  here.must_train("classify", "--out run");
  here.write("other.tsv", "label\ttext\nso-so\tlukewarm\n");
  check_refused(here.run("classify", "eval --from run --data other.tsv"), 1,
                "other.tsv, line 2: the label 'so-so' is not one of the classes: bad, good");
}

TEST_CASE("a test part that is gone is missed, and not stood in for", "[classify]") {
  TinyTexts here;
  here.must_train("classify", "--final --out run");
  fs::remove(here / "reviews/test.tsv");
  check_refused(here.run("classify", "eval --from run"), 1,
                "reviews no longer has the test part that the run was scored on; put it back, or name one with --data");
}

TEST_CASE("folders of another layout are refused", "[classify]") {
  TinyTexts here;
  auto refused = [&](const std::string& reason) {
    check_refused(here.train("classify", "--out run --data acl"), 1, reason);
  };
  auto final_refused = [&](const std::string& reason) {
    check_refused(here.train("classify", "--final --out run --data acl"), 1, reason);
  };
  fs::create_directories(here / "acl");
  refused("acl: holds no labelled texts; need train/ and test/");
  fs::create_directories(here / "acl/train");
  refused("acl/train: has no folders; need one per class");
  here.write("acl/train/pos/0_9.txt", "warm tea");
  refused("acl/train: every example is of the class 'pos'");
  fs::create_directories(here / "acl/train/neg");
  refused("acl/train/neg: the class is empty; need .txt files in its folder");
  here.write("acl/train/neg/0_1.txt", "");
  refused("acl/train/neg/0_1.txt: is empty");
  here.write("acl/train/neg/0_1.txt", "\n \n");
  refused("acl/train/neg/0_1.txt: the text is empty");
  here.write("acl/train/neg/0_1.txt", "cold tea");
  final_refused("--final: acl has no test part");
  here.write("acl/test/pos/0_9.txt", "fine tea");
  final_refused("acl/test/neg: there is no such folder");
  here.write("acl/test/neg/0_1.txt", "dull tea");
  here.write("acl/test/others/0_1.txt", "tea");
  final_refused("acl/test/others: the label 'others' is not one of the classes: neg, pos");
  CHECK_FALSE(fs::exists(here / "run"));
}

TEST_CASE("classify: wrong command lines are refused", "[classify]") {
  TinyTexts here;
  check_refused(here.run("classify", ""), 2, "a verb is missing");
  check_refused(here.run("classify", "predcit"), 2, "did you mean predict?");
  check_refused(here.train("classify", "--model bert"), 2, "--model: \"bert\" is none of ctransformer, ");
  check_refused(here.train("classify", "--split 1"), 2, "--split: 1 is out of range");
  check_refused(here.train("classify", "--final --split 0.5"), 2,
                "--split: --final trains on the whole training part; leave out one of them");
  check_refused(here.train("classify", "-M 0"), 2, "--max: 0 is out of range");
  check_refused(here.train("classify", "-V 4"), 2, "--vocab-size: 4 is out of range");
  check_refused(here.train("classify", "--keep middle"), 2, "--keep: \"middle\" is none of start, end");
  check_refused(here.train("classify", "--schedule cosine --lr-warmup 100000"), 2, "--lr-warmup: 100000 examples");
  check_refused(here.run("classify", "eval --from missing"), 1,
                "missing/checkpoint.safetensors: there is no such file");
  check_refused(here.run("classify", "predict --from missing tea"), 1,
                "missing/checkpoint.safetensors: there is no such");
  CHECK_FALSE(fs::exists(here / "runs"));
}

TEST_CASE("classify: a run is resumed as it was begun, or not at all", "[classify]") {
  TinyTexts here;
  here.must_train("classify", "--out run");
  const std::string kept = here.checkpoint("run"), metrics = here.metrics("run");
  for (const char* option : {"-E 8", "-M 4", "-b 4", "--dropout 0.3", "--norm pre", "--final", "--no-punctuation",
                             "--embedding-deviation 2", "--positions sinusoidal"}) {
    const Outcome changed = here.run("classify", std::string("train --resume --out run -e 4 ") + option);
    check_refused(changed, 2, "cannot change within a run; leave it out with --resume");
  }
  CHECK_THAT(here.run("classify", "train --resume --out run").out,
             ContainsSubstring("The run has taken all its steps"));
  check_refused(here.run("classify", "train --resume --out none"), 1, "there is no such file");
  here.write("reviews/train.tsv", tiny_reviews(8, 1));
  check_refused(here.run("classify", "train --resume --out run -e 4"), 1, "the data are no longer those");
  CHECK(here.checkpoint("run") == kept);
  CHECK(here.metrics("run") == metrics);
}

TEST_CASE("classify: what validated a run is scored without --data only while it is the same", "[classify]") {
  TinyTexts here;
  here.must_train("classify", "--data reviews/train.tsv --out run");
  const std::string scored = here.run("classify", "eval --from run").out, table = read_file(here / "reviews/train.tsv");
  CHECK(scored.starts_with("validation ctransformer "));
  here.write("reviews/train.tsv", table + "good\twarm tea\n");  // another split
  check_refused(here.run("classify", "eval --from run"), 1, "reviews/train.tsv has changed since run was trained");
  CHECK(here.run("classify", "eval --from run --data reviews/train.tsv").out.starts_with("reviews/train.tsv "));
  here.write("reviews/train.tsv", table);
  CHECK(here.run("classify", "eval --from run").out == scored);
  check_refused(here.run("classify", "eval --from run --label-column 1"), 2, "--label-column: only with --data");
}

TEST_CASE("columns are refused where there is no table", "[classify]") {
  TinyTexts here;
  const std::string small = "-e 1 -E 4 -H 1 -d 1 --lr-warmup 0 --schedule constant --out run ";
  for (const std::string option : {"label-column rating", "text-column 2", "header"}) {
    const std::string name = "--" + option.substr(0, option.find(' '));
    check_refused(here.run("classify", "train " + small + "--" + option), 2,
                  name + ": the built-in reviews have no columns");
  }
  REQUIRE(here.run("classify", "train " + small).status == 0);
  check_refused(here.run("classify", "eval --from run --label-column 7"), 2, "--label-column: only with --data");

  for (const std::string file : {"train/good/1", "train/good/2", "train/bad/1", "train/bad/2", "test/good/1"}) {
    here.write("acl/" + file + ".txt", file.find("good") == file.npos ? "cold tea" : "warm tea");
  }
  here.write("acl/test/bad/1.txt", "grey day");
  const std::string reason = " has a folder per class, and no columns";
  check_refused(here.run("classify", "train -D acl --header " + small), 2, "--header: acl" + reason);
  REQUIRE(here.run("classify", "train -D acl " + small).status == 0);
  check_refused(here.run("classify", "eval --from run -D acl --text-column 1"), 2, "--text-column: acl" + reason);
  check_refused(here.run("classify", "eval --from run -D acl/test --no-header"), 2, "--header: acl/test" + reason);
  fs::remove_all(here / "acl/train");  // what is left is the test part alone
  check_refused(here.run("classify", "eval --from run -D acl --label-column 1"), 2, "--label-column: acl" + reason);
}

TEST_CASE("a header that names columns cannot be denied", "[classify]") {
  TinyTexts here;
  const std::string reason = "--no-header: a column goes by its name, which is in the header";
  check_refused(here.train("classify", "--out run --no-header"), 2, reason);
  check_refused(here.train("classify", "--out run --no-header --label-column 1"), 2, reason);
  here.must_train("classify", "--out run");
  check_refused(here.run("classify", "eval --from run -D reviews --no-header"), 2, reason);
  here.write("bare.tsv", "good\twarm\nbad\tcold\n");
  const std::string numbers = " --no-header --label-column 1 --text-column 2";
  CHECK(here.run("classify", "eval --from run -D bare.tsv" + numbers).status == 0);
  here.must_train("classify", "--out other --data bare.tsv --split 0.5" + numbers);
}

TEST_CASE("a new label tells that the data have changed", "[classify]") {
  TinyTexts here;
  const std::string reason =
      "reviews/train.tsv: the classes are others than the model's, which has learnt bad, good; name texts";
  here.must_train("classify", "--data reviews/train.tsv --out run");
  write_file(here / "reviews/train.tsv", read_file(here / "reviews/train.tsv") + "odd\twarm tea\n");
  check_refused(here.run("classify", "eval --from run"), 1, reason);
  check_refused(here.run("classify", "train --resume --out run -e 4"), 1, reason);
}

TEST_CASE("classify: a model's weights learn no other classes than its own", "[classify]") {
  TinyTexts here;
  here.must_train("classify", "--data reviews/train.tsv --out base");
  check_refused(here.run("classify", "train --from base --out run"), 1,
                "built-in reviews: the classes are others than the model's, which has learnt bad, good; name texts");
  CHECK_FALSE(fs::exists(here / "run"));
}

TEST_CASE("texts that are not UTF-8 or empty are not labelled", "[classify]") {
  TinyTexts here;
  here.must_train("classify", "--out run");
  here.write("lines.txt", "warm tea\n\ncold \xFF tea\nnever read\n");
  const Outcome lines = here.run("classify", "predict --from run <lines.txt");
  CHECK(lines.status == 1);
  CHECK(count_lines(lines.out) == 1);
  CHECK(lines.err == "classify predict: standard input, line 3: is not UTF-8\n");
  check_refused(here.run("classify", "predict --from run \"$(printf 'a\\377')\""), 2, "TEXT 1 is not UTF-8");
  check_refused(here.run("classify", "predict --from run tea ' '"), 2, "TEXT 2 is empty");
  check_refused(here.run("classify", "predict --from run <."), 1, "standard input cannot be read to its end: Is a dir");
  check_refused(here.run("classify", "predict --from run tea >/dev/full"), 1, "cannot write to standard output");
}

TEST_CASE("classify: a checkpoint that does not fit is refused", "[classify]") {
  TinyTexts here;
  here.must_train("classify", "--out run");
  const fs::path file = here / "run/checkpoint.safetensors";
  const Checkpoint whole = load_checkpoint(file, "classify");
  auto check_misfit = [&](auto change, const std::string& reason) {
    Checkpoint checkpoint = whole;
    change(checkpoint);
    save_checkpoint(file, checkpoint);
    check_refused(here.run("classify", "predict --from run tea"), 1, reason);
  };
  check_misfit([](Checkpoint& c) { replace_option(c, "embedding", "17"); }, "does not fit");
  check_misfit([](Checkpoint& c) { replace_option(c, "max", "9"); }, "pos_embedding.weight");
  check_misfit([](Checkpoint& c) { replace_option(c, "model", "bert"); }, "\"bert\" is none of");
  check_misfit([](Checkpoint& c) { replace_note(c, "vocabulary", "lower case, punctuation kept\ntea"); },
               "token_embedding.weight");
  check_misfit([](Checkpoint& c) { replace_note(c, "vocabulary", "tea"); }, "the vocabulary is damaged");
  check_misfit([](Checkpoint& c) { replace_note(c, "classes", reel::Json::Array{"a", "b", "c"}); }, "toprobs.weight");
  check_misfit([](Checkpoint& c) { replace_note(c, "classes", "bad"); }, "does not fit");
  check_misfit([](Checkpoint& c) { replace_note(c, "app", "generate"); }, "was written by generate, not by classify");
  check_misfit([](Checkpoint& c) { c.weights.pop_back(); }, "toprobs.bias");

  here.must_train("translate", "--out run");
  check_refused(here.run("classify", "predict --from run tea"), 1, "was written by translate, not by classify");
  write_file(file, read_file(file).substr(0, 1000));
  check_refused(here.run("classify", "eval --from run"), 1, "is no checkpoint that can be read");
}
