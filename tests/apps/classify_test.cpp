// The program classify from end to end: it trains, scores and predicts, and it repeats itself to the last bit.

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

#include "tests/apps/tiny_texts.h"

using namespace reel::apps;
namespace fs = std::filesystem;

namespace {

const std::string score = R"(accuracy ([01]\.\d{4})  loss \d+\.\d{4} nats  texts (\d+))";

/// The numbers of the line that ends so, such as "validation ctransformer".
struct Line {
  double accuracy = -1;
  int texts = -1;
};
Line line_of(const std::string& out, const std::string& beginning) {
  std::smatch parts;
  if (!std::regex_search(out, parts, std::regex("(?:^|\n)" + beginning + "  " + score + "\n"))) return {};
  return {std::stod(parts[1]), std::stoi(parts[2])};
}

/// The texts of a table's rows, a line each.
std::string texts_of(const std::string& table) {
  std::istringstream rows(table);
  std::string row, texts;
  std::getline(rows, row);
  while (std::getline(rows, row)) texts += row.substr(row.find('\t') + 1) + "\n";
  return texts;
}

}  // namespace

TEST_CASE("every classifier trains, is scored and predicts", "[classify]") {
  const std::string options = GENERATE("", "--max-pool --mask-padding --dropout 0.1", "--norm pre --activation gelu",
                                       "--model textclassification --hidden 8");
  CAPTURE(options);
  TinyTexts here;
  const Outcome trained = here.must_train("classify", options + " -e 10 --out run");
  const std::string model = options.starts_with("--model") ? "textclassification" : "ctransformer";
  CHECK_THAT(trained.out, ContainsSubstring("reviews: 54 texts to train on, 6 to validate, 2 classes, "));
  CHECK(trained.last_line_of_out().starts_with("saved run/checkpoint.safetensors"));
  CHECK(line_of(trained.out, "validation bag of words").texts == 6);
  CHECK(line_of(trained.out, "validation " + model).texts == 6);
  CHECK_THAT(trained.out, ContainsSubstring("\nafter step 14  validation accuracy "));  // 54 texts are 7 batches of 8

  const Outcome scored = here.run("classify", "eval --from run");
  INFO(scored.err);
  REQUIRE(scored.status == 0);
  CHECK(count_lines(scored.out) == 1);
  const Line tested = line_of(scored.out, "test " + model);
  CHECK(tested.texts == 20);
  CHECK(tested.accuracy > 0.9);
  CHECK(here.run("classify", "eval --from run --data reviews/test.tsv").out ==
        "reviews/test.tsv" + scored.out.substr(4));
  CHECK(here.run("classify", "eval --from run -b 3 --threads 1").out == scored.out);

  // Each text by itself, as lines and as arguments, is what it was among the others.
  here.write("texts.txt", texts_of(read_file(here / "reviews/test.tsv")));
  const Outcome predicted = here.run("classify", "predict --from run <texts.txt");
  CHECK(predicted.status == 0);
  CHECK(predicted.err.empty());
  REQUIRE(count_lines(predicted.out) == 20);
  std::istringstream lines(predicted.out), rows(read_file(here / "reviews/test.tsv"));
  std::string line, row, arguments;
  int right = 0;
  std::getline(rows, row);
  while (std::getline(lines, line) && std::getline(rows, row)) {
    std::smatch parts;
    REQUIRE(std::regex_match(line, parts, std::regex(R"((good|bad)\t([01]\.\d{4})\t(.*))")));
    CHECK(std::stod(parts[2]) >= 0.5);
    const std::string text = row.substr(row.find('\t') + 1);
    CHECK(parts[3] == text);
    right += row.starts_with(parts[1].str() + "\t") ? 1 : 0;
    arguments += " '" + text + "'";
  }
  CHECK(right == std::lround(20 * tested.accuracy));
  CHECK(here.run("classify", "predict --from run" + arguments).out == predicted.out);
  CHECK(here.run("classify", "predict --from run --threads 1" + arguments).out == predicted.out);
}

TEST_CASE("classify: the test part is set aside, and scored once", "[classify]") {
  TinyTexts here;
  const Outcome trained = here.must_train("classify", "--final --out run");
  CHECK_THAT(trained.out, ContainsSubstring("reviews: 60 texts to train on, 20 to test, "));
  CHECK_THAT(trained.out, !ContainsSubstring("validation"));
  CHECK_THAT(trained.out, ContainsSubstring("\n" + here.run("classify", "eval --from run").out));
  CHECK(line_of(trained.out, "test bag of words").texts == 20);
}

TEST_CASE("reviews are read from tables and from folders", "[classify]") {
  TinyTexts here;
  // One table: its validation part is what eval scores.
  const Outcome one = here.must_train("classify", "--data reviews/train.tsv --out one");
  CHECK_THAT(one.out, ContainsSubstring("\n" + here.run("classify", "eval --from one").out));
  CHECK(line_of(one.out, "validation ctransformer").texts == 6);

  // Columns by their numbers.
  std::string numbered = std::regex_replace(read_file(here / "reviews/train.tsv"), std::regex("\t"), "\t7\t");
  here.write("numbered.tsv", numbered);
  const Outcome by_number =
      here.must_train("classify", "--data numbered.tsv --label-column 1 --text-column 3 --header --out by-number");
  CHECK(line_of(by_number.out, "validation ctransformer").texts == 6);

  // The table by its name is scored as a whole, with what was learnt from it.
  const Outcome own = here.run("classify", "eval --from one --data reviews/../reviews/train.tsv");
  CHECK(own.out.starts_with("reviews/../reviews/train.tsv ctransformer"));
  CHECK_THAT(own.err, ContainsSubstring("one was trained on reviews/../reviews/train.tsv, which is scored as a whole"));
  CHECK(here.run("classify", "eval --from one").err.empty());
  here.must_train("classify", "--out parts");
  CHECK_THAT(here.run("classify", "eval --from parts --data reviews/train.tsv").err,
             ContainsSubstring("parts was trained on reviews/train.tsv"));
  CHECK(here.run("classify", "eval --from parts --data reviews/test.tsv").err.empty());
  CHECK(here.metrics("by-number") == here.metrics("one"));
  here.write("other.csv", "warm tea,good\ncold tea,bad\n");
  const Outcome other = here.run("classify",
                                 "eval --from by-number --data other.csv --label-column 2 --text-column 1 "
                                 "--no-header");
  CHECK(line_of(other.out, "other.csv ctransformer").texts == 2);

  // A folder per class, as aclImdb. Texts have many lines there, and one has none of the known words.
  for (const char* part : {"train", "test"}) {
    for (const char* label : {"neg", "pos"}) {
      for (int i = 0; i < 6; ++i) {
        here.write(std::string("acl/") + part + "/" + label + "/" + std::to_string(i) + "_1.txt",
                   i == 5                        ? "<br />"
                   : std::string(label) == "neg" ? "a grey\n\tday"
                                                 : "a warm\nday");
      }
    }
  }
  here.write("acl/train/unsup/0_0.txt", "left out");
  here.write("acl/train/urls.txt", "left out, too");
  const Outcome folder = here.must_train("classify", "--data acl --out folder");
  CHECK_THAT(folder.out, ContainsSubstring("acl: 10 texts to train on, 2 to validate, 2 classes"));
  CHECK_THAT(folder.out, ContainsSubstring("a grey  day\n") || ContainsSubstring("a warm day\n"));
  const Outcome scored = here.run("classify", "eval --from folder");
  CHECK(line_of(scored.out, "test ctransformer").texts == 12);

  // To score, no training part is needed.
  here.shell("mkdir part && mv acl/test part");
  CHECK_THAT(here.run("classify", "eval --from folder").out, ContainsSubstring("validation ctransformer"));
  here.shell("rm -r acl/train");
  CHECK(here.run("classify", "eval --from folder --data part").out == scored.out);
  CHECK(here.run("classify", "eval --from folder --data part/test").out == "part/test" + scored.out.substr(4));
  check_refused("classify", here.run("classify", "eval --from folder"), 1,
                "acl: holds no labelled texts; need train/ and test/");
  check_refused("classify", here.run("classify", "eval --from folder --data acl"), 1,
                "acl: has neither a test part (test, test.tsv or test.csv) nor a folder per class");
}

TEST_CASE("texts that are learnt as labels are noticed", "[classify]") {
  TinyTexts here;
  std::string table = "label\ttext\n";
  for (int i = 0; i < 20; ++i) table += reel::text(i % 2 ? "good" : "bad", "\treview number ", i, '\n');
  here.write("swapped.tsv", table);
  const std::string options = "-e 1 --data swapped.tsv --out run";
  here.write("few.tsv", "label\ttext\ngood\tone\nbad\ttwo\ngood\tthree\n");
  for (const char* name : {"a", "b", "c"}) here.write("folders/train/" + std::string(name) + "/1.txt", "some text");
  for (const char* data : {"swapped.tsv", "few.tsv", "folders"}) {
    const Outcome right = here.must_train("classify", options + " --data " + data);
    CHECK_THAT(right.err, !ContainsSubstring("exchanged"));
  }
  const Outcome swapped = here.must_train("classify", options + " --label-column text --text-column label");
  CHECK_THAT(swapped.err, ContainsSubstring("classify train: 20 texts are of 20 classes; are the columns of labels and "
                                            "texts exchanged?\n"));
}

TEST_CASE("with --cased, a label may turn on capitals", "[classify]") {
  TinyTexts here;
  std::string rows = "label\ttext\n";
  for (int i = 0; i < 40; ++i) rows += i % 2 == 0 ? "name\tMay Rose\n" : "thing\tmay rose\n";
  here.write("reviews/train.tsv", rows);
  here.write("reviews/test.tsv", rows);
  here.must_train("classify", "-e 8 --cased --out cased");
  CHECK_THAT(here.run("classify", "eval --from cased").out, ContainsSubstring("accuracy 1.0000"));
  CHECK(here.run("classify", "predict --from cased 'May Rose'").out.starts_with("name\t"));
  here.must_train("classify", "-e 8 --out lower");
  CHECK_THAT(here.run("classify", "eval --from lower").out, ContainsSubstring("accuracy 0.5000"));
}

TEST_CASE("of a text that is too long, one end is read", "[classify]") {
  const std::string keep = GENERATE("start", "end");
  TinyTexts here;
  const Outcome trained = here.must_train("classify", "-M 3 -e 10 --out run --keep " + keep);
  std::istringstream lines(texts_of(tiny_reviews(60, 1)));
  int longer = 0;
  for (std::string line; std::getline(lines, line);) longer += std::count(line.begin(), line.end(), ' ') >= 3;
  CHECK_THAT(trained.out,
             ContainsSubstring(" to validate, " + std::to_string(longer) + " of all cut at --max 3, 2 classes"));
  auto label = [&](const std::string& text) {
    const Outcome predicted = here.run("classify", "predict --from run '" + text + "'");
    return predicted.out.substr(0, predicted.out.rfind('\t'));
  };
  CHECK(label("warm tea and cold grey day") == label(keep == "start" ? "warm tea and" : "cold grey day"));
  CHECK(label("warm tea and cold grey day") != label(keep == "end" ? "warm tea and" : "cold grey day"));
  CHECK(here.run("classify", "predict --from run 'warm tea and cold grey day' 'warm tea and'").err ==
        "classify predict: \"warm tea and cold grey day\" is longer than --max 3; only its " + keep + " is read\n");
  here.write("three.tsv", "label\ttext\ngood\twarm tea and so\nbad\tcold grey day\nbad\tdull tea so so\n");
  CHECK(here.run("classify", "eval --from run --data three.tsv").out.ends_with("texts 3  2 cut at --max 3\n"));
}

TEST_CASE("without data, reviews from a grammar are learnt, by a small model", "[classify]") {
  TinyTexts here;
  const Outcome trained = here.run("classify", "train -e 1 -E 8 -d 1 -b 100 --out run");
  INFO(trained.err);
  REQUIRE(trained.status == 0);
  CHECK_THAT(trained.out, ContainsSubstring("built-in reviews: 9000 texts to train on, 1000 to validate, 2 classes"));
  // Words alone tell next to nothing.
  const Line words = line_of(trained.out, "validation bag of words");
  CHECK(words.texts == 1000);
  CHECK(words.accuracy < 0.7);
  CHECK(line_of(here.run("classify", "eval --from run").out, "test ctransformer").texts == 1000);

  const Checkpoint small = load_checkpoint(here / "run/checkpoint.safetensors", "classify");
  CHECK(option_of(small, "embedding") == "8");  // as the command line says
  CHECK(option_of(small, "heads") == "2");
  CHECK(option_of(small, "learn-rate") == "0.001");
  here.must_train("classify", "--out real");
  const Checkpoint real = load_checkpoint(here / "real/checkpoint.safetensors", "classify");
  CHECK(option_of(real, "gradient-clipping") == "1");
  CHECK(option_of(real, "vocab-size") == "50000");
  CHECK(option_of(real, "schedule") == "constant");
}

TEST_CASE("lines that are empty are no texts", "[classify]") {
  TinyTexts here;
  here.must_train("classify", "--out run");
  const Outcome predicted = here.run("classify", "predict --from run < /dev/null");
  CHECK(predicted.status == 0);
  CHECK(predicted.out.empty());
  here.write("lines.txt", "\nwarm tea\r\n \t\n\r\n<br />\nno line end");
  const Outcome lines = here.run("classify", "predict --from run <lines.txt");
  CHECK(lines.status == 0);
  CHECK(count_lines(lines.out) == 3);
  CHECK_THAT(lines.out, ContainsSubstring("\twarm tea\n"));
  CHECK(lines.out.ends_with("\tno line end\n"));
}

TEST_CASE("a prediction for words that the model does not know says so", "[classify]") {
  TinyTexts here;
  here.must_train("classify", "--out run");
  CHECK_THAT(here.run("classify", "predict --from run 'xyzzy plugh'").err,
             ContainsSubstring("classify predict: of \"xyzzy plugh\" the model knows no word that it reads"));
  CHECK(here.run("classify", "predict --from run 'xyzzy tea'").err.empty());
}

TEST_CASE("a prediction is one line with three columns, whatever the text", "[classify]") {
  TinyTexts here;
  here.must_train("classify", "--out run");
  const Outcome predicted = here.run("classify", "predict --from run \"$(printf 'two\\nlines\\there\\033[1m')\"");
  CHECK(predicted.status == 0);
  CHECK(count_lines(predicted.out) == 1);
  CHECK(predicted.out.ends_with("\ttwo lines here [1m\n"));
}

TEST_CASE("classify's help has the published defaults", "[classify]") {
  TinyTexts here;
  const std::string page = here.run("classify", "train -h").out;
  for (const char* option : {"-e, --num-epochs N", "-b, --batch-size N", "-l, --learn-rate RATE", "-E, --embedding N",
                             "-V, --vocab-size N", "-M, --max N", "-H, --heads N", "-d, --depth N",
                             "-r, --random-seed N", "-f, --final", "--max-pool", "--gradient-clipping NORM"}) {
    CHECK_THAT(page, ContainsSubstring(option));
  }
  const std::string unwrapped = std::regex_replace(page, std::regex("\\s+"), " ");
  for (const char* value : {"default 80;", "default 4;", "default 1e-4;", "default 128;", "default 50000;",
                            "default 512;", "default 8;", "default 6;", "default 10000;", "--embedding 64"}) {
    CHECK_THAT(unwrapped, ContainsSubstring(value));
  }
}
