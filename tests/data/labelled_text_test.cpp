#include "data/labelled_text.h"

#include <algorithm>
#include <set>

#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel;
using namespace reel::data;
using Strings = std::vector<std::string>;
using Labels = std::vector<std::int32_t>;

namespace {

void write_reviews(const TemporaryFolder& folder) {
  for (std::string part : {"train/", "test/"}) {
    folder.write(part + "pos/10_9.txt", part + "ten");
    folder.write(part + "pos/0_9.txt", part + "zero");
    folder.write(part + "neg/0_3.txt", part + "bad");
    folder.write(part + "neg/notes.md", "not a review");
  }
  folder.write("train/unsup/0_0.txt", "without a label");
  folder.write("train/.ipynb_checkpoints/0_0.txt", "of an editor");
  folder.write("train/pos/._0_9.txt", "\x05\x16\xFF of an archive");
  folder.write("train/labeledBow.feat", "9 0:9");
  folder.write("imdb.vocab", "the");
}

struct TrainAndTest {
  LabelledText train;
  std::optional<LabelledText> test;
};

TrainAndTest read_both(const std::filesystem::path& path) {
  TrainAndTest data{read_labelled_train(path), std::nullopt};
  data.test = read_labelled_test(path, {}, data.train.classes);
  return data;
}

}  // namespace

TEST_CASE("an aclImdb folder is read in the order of its names, without what has no label") {
  TemporaryFolder folder;
  write_reviews(folder);
  TrainAndTest data = read_both(folder.path());
  CHECK(data.train.classes == Strings{"neg", "pos"});
  CHECK(data.train.texts == Strings{"train/bad", "train/zero", "train/ten"});
  CHECK(data.train.labels == Labels{0, 1, 1});
  REQUIRE(data.test);
  CHECK(data.test->classes == data.train.classes);
  CHECK(data.test->texts == Strings{"test/bad", "test/zero", "test/ten"});
}

TEST_CASE("names of files and of parts may be in capitals") {
  TemporaryFolder folder;
  write_reviews(folder);
  folder.write("train/pos/1_1.TXT", "loud");
  std::filesystem::rename(folder / "test", folder / "Test");
  const TrainAndTest folders = read_both(folder.path());
  CHECK(folders.train.texts == Strings{"train/bad", "train/zero", "train/ten", "loud"});
  CHECK(folders.test);

  TemporaryFolder tables;
  tables.write("TRAIN.CSV", "label,text\npos,fine\nneg,poor\n");
  tables.write("test.Csv", "label,text\nneg,grey\n");
  const TrainAndTest data = read_both(tables.path());
  CHECK(data.train.texts == Strings{"fine", "poor"});
  REQUIRE(data.test);
  CHECK(data.test->texts == Strings{"grey"});

  // Rather as they are called by rule.
  tables.write("train.csv", "label,text\npos,warm\nneg,cold\n");
  CHECK(read_both(tables.path()).train.texts == Strings{"warm", "cold"});
  // What is called so and cannot be read is no reason to take another.
  std::filesystem::create_symlink("nowhere", tables / "train.tsv");
  CHECK_THROWS_WITH(read_both(tables.path()), ContainsSubstring("train.tsv: there is no such file"));
  std::filesystem::remove(tables / "train.tsv");
  std::filesystem::remove(tables / "test.Csv");
  std::filesystem::create_symlink("nowhere", tables / "test.csv");
  CHECK_THROWS_WITH(read_both(tables.path()), ContainsSubstring("test.csv: there is no such file"));
}

TEST_CASE("the training part is read whatever the test part is") {
  TemporaryFolder folder;
  folder.write("train.csv", "label,text\npos,fine\nneg,poor\n");
  folder.write("test.csv", "id,text\n1,good\n");  // as competitions have it
  CHECK(read_labelled_train(folder.path()).texts == Strings{"fine", "poor"});
  CHECK_THROWS_WITH(read_both(folder.path()), ContainsSubstring("test.csv, line 1: no column is named 'label'"));
}

TEST_CASE("a folder of another layout is refused, with what it should hold") {
  TemporaryFolder folder;
  auto message = ContainsSubstring("holds no labelled texts; need train/ and test/ with a folder per class in each");
  CHECK_THROWS_WITH(read_both(folder.path()), message);
  write_reviews(folder);
  CHECK_THROWS_WITH(read_both(folder / "train"), message);

  folder.write("test/mixed/1.txt", "x");
  CHECK_THROWS_WITH(read_both(folder.path()),
                    ContainsSubstring("test/mixed: the label 'mixed' is not one of the classes: neg, pos"));
  std::filesystem::remove_all(folder / "test/mixed");
  std::filesystem::remove(folder / "test/neg/0_3.txt");
  CHECK_THROWS_WITH(read_both(folder.path()), ContainsSubstring("test/neg: the class is empty"));
  std::filesystem::remove_all(folder / "test/neg");
  CHECK_THROWS_WITH(read_both(folder.path()), ContainsSubstring("test/neg: there is no such folder"));
  std::filesystem::remove_all(folder / "test");
  CHECK_FALSE(read_both(folder.path()).test);
  std::filesystem::remove_all(folder / "train/neg");
  CHECK_THROWS_WITH(read_both(folder.path()), ContainsSubstring("every example is of the class 'pos'"));
  std::filesystem::remove_all(folder / "train/pos");
  CHECK_THROWS_WITH(read_both(folder.path()), ContainsSubstring("train: has no folders; need one per class"));
}

TEST_CASE("a class is a word that can be printed") {
  TemporaryFolder folder;
  for (const std::string name : {"p\xFFos", "p\tos", "p\nos", "p\xC2\x9Bos"}) {
    folder.write("train/" + name + "/1.txt", "x");
    folder.write("train/neg/1.txt", "y");
    CHECK_THROWS_WITH(read_both(folder.path()),
                      ContainsSubstring("train: the label 'p") &&
                          ContainsSubstring("os' cannot be a class; need UTF-8 without control characters"));
    std::filesystem::remove_all(folder / "train");
  }
}

TEST_CASE("an empty review is refused by name") {
  TemporaryFolder folder;
  write_reviews(folder);
  folder.write("train/pos/3_7.txt", " \n");
  CHECK_THROWS_WITH(read_both(folder.path()), ContainsSubstring("train/pos/3_7.txt: the text is empty"));
  folder.write("train/pos/3_7.txt", "");
  CHECK_THROWS_WITH(read_both(folder.path()), ContainsSubstring("train/pos/3_7.txt: is empty"));
}

TEST_CASE("white space around names and labels does not count") {
  TemporaryFolder folder;
  const LabelledText data =
      read_labelled_table(folder.write("a.csv", "text , label\nfine, pos\npoor,neg\ngood,pos \n"));
  CHECK(data.classes == Strings{"neg", "pos"});
  CHECK(data.labels == Labels{1, 0, 1});
  CHECK_THROWS_WITH(read_labelled_table(folder.write("b.csv", "text,label, text\nfine,pos,good\n")),
                    ContainsSubstring("two columns are named 'text'"));
}

TEST_CASE("a table's columns are chosen by name or by number") {
  TemporaryFolder folder;
  auto named = folder.write("named.csv", "id,text,label\n1,\"fine, really\",pos\n2,poor,neg\n3,good,pos\n");
  auto bare = folder.write("bare.tsv", "0\t3\tpoor\n1\t8\tfine\n");
  Strings texts{"fine, really", "poor", "good"};

  for (TableColumns columns :
       {TableColumns{}, TableColumns{"label", "2"}, TableColumns{"3", "text"}, TableColumns{"3", "2", true}}) {
    LabelledText data = read_labelled_table(named, columns);
    CHECK(data.classes == Strings{"neg", "pos"});
    CHECK(data.texts == texts);
    CHECK(data.labels == Labels{1, 0, 1});
  }
  LabelledText data = read_labelled_table(bare, {"1", "3"});
  CHECK(data.classes == Strings{"0", "1"});
  CHECK(data.texts == Strings{"poor", "fine"});
  CHECK(data.labels == Labels{0, 1});

  CHECK_THROWS_WITH(read_labelled_table(bare),
                    ContainsSubstring("bare.tsv, line 1: no column is named 'label' here but 0, 3, poor"));
  CHECK_THROWS_WITH(read_labelled_table(named, {"label", "review"}), ContainsSubstring("no column is named 'review'"));
  CHECK_THROWS_WITH(read_labelled_table(named, {"label", "3"}), ContainsSubstring("are both column 3"));
  const auto twice = folder.write("twice.tsv", "label\ttext\ttext\n0\tpoor\tfine\n1\tfine\tpoor\n");
  CHECK_THROWS_WITH(read_labelled_table(twice), ContainsSubstring("twice.tsv, line 1: two columns are named 'text'"));
  CHECK(read_labelled_table(twice, {"1", "3", true}).texts == Strings{"fine", "poor"});
  for (std::string number : {"0", "4", "99999999999999999999"}) {
    CHECK_THROWS_WITH(read_labelled_table(bare, {"1", number}),
                      ContainsSubstring("there is no column " + number + "; the columns are 1 to 3"));
  }
}

TEST_CASE("a table's faults are refused, with file and line") {
  TemporaryFolder folder;
  auto refused = [&](const std::string& bytes, const std::string& message, const Strings& classes = {}) {
    CHECK_THROWS_WITH(read_labelled_table(folder.write("a.tsv", bytes), {"1", "2"}, classes),
                      ContainsSubstring("a.tsv" + message));
  };
  refused("pos\tfine\n\npos\n", ", line 3: 1 columns; need 2");
  refused("pos\tfine\n\tpoor\n", ", line 2: the label is empty");
  const std::string all(100, 'x'), brief = std::string(59, 'x') + "\u2026";
  refused(all + "\tfine\n", ", line 1: the label '" + brief + "' is not one of the classes: neg, pos", {"neg", "pos"});
  refused("pos\tfine\n", ", line 1: the label 'pos' is not one of the classes: " + brief, {all, all + "y"});
  for (std::string blank : {"  ", "\u00A0", "\u3000 \u2028", "\f\v\x1C"}) {
    refused("pos\tfine\nneg\t" + blank + "\n", ", line 2: the text is empty");
  }
  refused("pos\tfine\npos\tgood\n", ": every example is of the class 'pos'; need two classes or more");
  refused("pos\tfine\nm\x1b[1m\tso so\n", ", line 2: the label 'm?[1m' is not one of the classes: neg, pos",
          {"neg", "pos"});
  refused("pos\tfine\nmeh\tso so\n", ", line 2: the label 'meh' is not one of the classes: neg, pos", {"neg", "pos"});
  refused("", ": is empty");
  CHECK_THROWS_WITH(read_labelled_table(folder.write("b.tsv", "label\ttext\n")), ContainsSubstring("has no rows but"));
}

TEST_CASE("a test part takes its classes from the training part") {
  TemporaryFolder folder;
  folder.write("train.tsv", "label\ttext\npos\tfine\nneg\tpoor\nodd\twhat\n");
  folder.write("test.tsv", "label\ttext\npos\tgood\n");
  TrainAndTest data = read_both(folder.path());
  CHECK(data.train.labels == Labels{2, 0, 1});
  REQUIRE(data.test);
  CHECK(data.test->labels == Labels{2});
  CHECK(data.test->classes == Strings{"neg", "odd", "pos"});

  folder.write("test.tsv", "label\ttext\nPos\tgood\n");
  CHECK_THROWS_WITH(read_both(folder.path()), ContainsSubstring("test.tsv, line 2: the label 'Pos'"));
  std::filesystem::remove(folder / "test.tsv");
  CHECK_FALSE(read_both(folder.path()).test);
}

TEST_CASE("a test part is read without a training part, if there is one") {
  TemporaryFolder folder;
  const Strings classes{"neg", "odd", "pos"};
  CHECK_FALSE(read_labelled_test(folder.path(), {}, classes));
  CHECK_FALSE(read_labelled_test(folder / "missing", {}, classes));
  const auto table = folder.write("test.csv", "label,text\npos,fine\n");
  CHECK_FALSE(read_labelled_test(table, {}, classes));
  const auto from_table = read_labelled_test(folder.path(), {}, classes);
  REQUIRE(from_table);
  CHECK(from_table->labels == Labels{2});
  CHECK(read_labelled_part(table, {}, classes).texts == from_table->texts);

  for (const char* label : {"neg", "odd", "pos"}) folder.write(std::string("test/") + label + "/1.txt", label);
  const auto from_folders = read_labelled_test(folder.path(), {}, classes);
  REQUIRE(from_folders);
  CHECK(from_folders->texts == classes);
  CHECK(read_labelled_part(folder / "test", {}, classes).texts == classes);

  // Beside a training part of another kind, the folder is none of the data.
  folder.write("train.csv", "label,text\npos,fine\nneg,poor\nodd,what\n");
  CHECK(read_labelled_test(folder.path(), {}, classes)->texts == from_table->texts);
  CHECK(read_both(folder.path()).test->texts == from_table->texts);
  std::filesystem::remove(folder / "test.csv");
  CHECK_FALSE(read_labelled_test(folder.path(), {}, classes));

  // Of two tables, the endings may differ.
  folder.write("test.tsv", "label\ttext\nodd\tso\n");
  CHECK(read_both(folder.path()).test->texts == Strings{"so"});

  // A table beside folders may be anything.
  std::filesystem::remove(folder / "train.csv");
  std::filesystem::remove_all(folder / "test");
  for (const char* label : {"neg", "odd", "pos"}) folder.write(std::string("train/") + label + "/1.txt", label);
  CHECK_FALSE(read_both(folder.path()).test);
}

TEST_CASE("a single table is all for training, and may have the classes of a checkpoint") {
  TemporaryFolder folder;
  auto file = folder.write("all.csv", "label,text\npos,fine\nneg,poor\n");
  TrainAndTest data = read_both(file);
  CHECK(!data.test);
  CHECK(data.train.labels == Labels{1, 0});
  CHECK(read_labelled_part(file, {}, {"neg", "odd", "pos"}).labels == Labels{2, 0});
}

TEST_CASE("a split draws at random, shares nothing and keeps the order") {
  LabelledText data{{}, {}, {"a", "b"}};
  for (int i = 0; i < 100; ++i) {
    data.texts.push_back(std::to_string(1000 + i));
    data.labels.push_back(i >= 50);
  }
  Generator generator(1);
  auto [first, rest] = split(data, 0.8, generator);
  REQUIRE(first.texts.size() == 80);
  REQUIRE(rest.texts.size() == 20);
  CHECK(rest.classes == data.classes);
  std::set<std::string> all;
  for (const LabelledText* part : {&first, &rest}) {
    CHECK(std::is_sorted(part->texts.begin(), part->texts.end()));
    for (std::size_t i = 0; i < part->texts.size(); ++i) {
      all.insert(part->texts[i]);
      CHECK(part->labels[i] == (part->texts[i] >= "1050"));
    }
  }
  CHECK(all.size() == 100);
  CHECK(std::count(rest.labels.begin(), rest.labels.end(), 1) > 3);
  CHECK(std::count(rest.labels.begin(), rest.labels.end(), 0) > 3);

  Generator same(1), other(2);
  CHECK(split(data, 0.8, same).rest.texts == rest.texts);
  CHECK(split(data, 0.8, other).rest.texts != rest.texts);
  CHECK_THROWS_WITH(split(data, 1, same), ContainsSubstring("0 < share < 1"));
}

TEST_CASE("texts without a label each are not split") {
  Generator generator(1);
  CHECK_THROWS_WITH(split(LabelledText{{"a", "b"}, {0}, {"x"}}, 0.5, generator),
                    ContainsSubstring("split: 2 texts have 1 labels"));
}
