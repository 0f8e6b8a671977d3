#include "data/parallel_text.h"

#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::data;
using Strings = std::vector<std::string>;

namespace {

void write_parts(const TemporaryFolder& folder) {
  for (std::string part : {"train", "val", "test_2016", "test_2017"}) {
    folder.write(part + ".de", part + " eins\n" + part + " zwei\n");
    folder.write(part + ".en", part + " one\n" + part + " two\n");
  }
  folder.write("test_2016.fr", "un\n");
  folder.write("README.md", "# corpus\n");
}

}  // namespace

TEST_CASE("a folder of parallel files is read part by part, either way") {
  TemporaryFolder folder;
  write_parts(folder);
  ParallelData data = read_parallel_folder(folder.path(), "de", "en");
  CHECK(data.train.sources == Strings{"train eins", "train zwei"});
  CHECK(data.train.targets == Strings{"train one", "train two"});
  CHECK(data.validation.sources == Strings{"val eins", "val zwei"});
  CHECK(data.tests.empty());
  CHECK(read_parallel_folder(folder.path(), "en", "de").train.targets == data.train.sources);
}

TEST_CASE("a stray CR on one side does not move the lines of the other") {
  TemporaryFolder folder;
  const ParallelText text =
      read_parallel_files(folder.write("de", "ei\rns\nzwei\ndrei\n"), folder.write("en", "one\ntwo\nth\rree\n"));
  CHECK(text.sources == Strings{"ei ns", "zwei", "drei"});
  CHECK(text.targets == Strings{"one", "two", "th ree"});
}

TEST_CASE("a language's ending may have dots") {
  TemporaryFolder folder;
  for (std::string part : {"train", "val", "test_2016", "test"}) {
    folder.write(part + ".lc.de", part + " eins\n");
    folder.write(part + ".lc.en", part + " one\n");
  }
  CHECK(read_parallel_folder(folder.path(), "lc.de", "lc.en").train.targets == Strings{"train one"});
  const auto tests = read_parallel_tests(folder.path(), "lc.de", "lc.en");
  REQUIRE(tests.size() == 2);
  CHECK(tests.at("test_2016").targets == Strings{"test_2016 one"});
  CHECK(tests.at("test").sources == Strings{"test eins"});
}

TEST_CASE("the test parts are read by themselves") {
  TemporaryFolder folder;
  write_parts(folder);
  for (std::string other : {"train.de", "train.en", "val.de", "val.en"}) std::filesystem::remove(folder / other);
  const auto tests = read_parallel_tests(folder.path(), "de", "en");
  REQUIRE(tests.size() == 2);
  CHECK(tests.at("test_2016").sources == Strings{"test_2016 eins", "test_2016 zwei"});
  CHECK(read_parallel_tests(folder.path(), "en", "de").at("test_2017").targets ==
        Strings{"test_2017 eins", "test_2017 zwei"});
  CHECK_THROWS_WITH(read_parallel_tests(folder.path(), "de", "nl"), ContainsSubstring("there is no test_2016.nl"));
  CHECK_THROWS_WITH(read_parallel_tests(folder.path(), "cs", "nl"), ContainsSubstring("there is no file test*.cs"));
  CHECK_THROWS_WITH(read_parallel_tests(folder / "none", "de", "en"), ContainsSubstring("there is no such folder"));
}

TEST_CASE("lines end at line ends alone") {
  TemporaryFolder folder;
  auto source = folder.write("a.de",
                             "\xEF\xBB\xBF"
                             "eins\u0085zwei\r\ndrei\u2028vier\r\n");
  auto target = folder.write("a.en", "one two\nthree four");
  ParallelText text = read_parallel_files(source, target);
  CHECK(text.sources == Strings{"eins\u0085zwei", "drei\u2028vier"});
  CHECK(text.targets == Strings{"one two", "three four"});
}

TEST_CASE("lines that do not pair up are refused, with the line") {
  TemporaryFolder folder;
  auto two = folder.write("two.de", "eins\nzwei\n"), three = folder.write("three.en", "one\ntwo\nthree\n");
  auto refused = [](const auto& source, const auto& target) {
    CHECK_THROWS_WITH(
        read_parallel_files(source, target),
        ContainsSubstring("three.en, line 3: has no counterpart; ") && ContainsSubstring("two.de ends after 2 lines"));
  };
  refused(two, three);
  refused(three, two);
}

TEST_CASE("an empty side of a pair is refused, with the line") {
  TemporaryFolder folder;
  auto whole = folder.write("whole.de", "eins\nzwei\ndrei\n");
  for (std::string gap :
       {"one\n\nthree\n", "one\n \t\nthree\n", "one\r\n\r\nthree\r\n", "one\n\u00A0\u2003\nthree\n"}) {
    auto holed = folder.write("holed.en", gap);
    CHECK_THROWS_WITH(read_parallel_files(whole, holed), ContainsSubstring("holed.en, line 2: is empty"));
    CHECK_THROWS_WITH(read_parallel_files(holed, whole), ContainsSubstring("holed.en, line 2: is empty"));
  }
  auto trailing = folder.write("trailing.en", "one\ntwo\nthree\n\n");
  CHECK_THROWS_WITH(read_parallel_files(whole, trailing), ContainsSubstring("trailing.en, line 4: is empty"));
  CHECK_THROWS_WITH(read_parallel_files(whole, folder.write("nothing.en", "")), ContainsSubstring("is empty"));
}

TEST_CASE("a folder that lacks a part is refused, with what is needed") {
  TemporaryFolder folder;
  write_parts(folder);
  auto refused = [&](const std::string& missing) {
    CHECK_THROWS_WITH(read_parallel_folder(folder.path(), "de", "en"),
                      ContainsSubstring("there is no " + missing + "; parts are train, val and test*") &&
                          ContainsSubstring(".de and .en"));
  };
  CHECK_THROWS_WITH(read_parallel_folder(folder.path(), "de", "fr"), ContainsSubstring("there is no train.fr"));
  std::filesystem::remove(folder / "test_2017.de");
  CHECK_THROWS_WITH(read_parallel_tests(folder.path(), "de", "en"), ContainsSubstring("there is no test_2017.de"));
  CHECK(read_parallel_folder(folder.path(), "de", "en").train.sources.size() == 2);  // does not ask for them
  std::filesystem::remove(folder / "val.en");
  refused("val.en");
  std::filesystem::remove(folder / "train.de");
  refused("train.de");
  CHECK_THROWS_WITH(read_parallel_folder(folder / "none", "de", "en"), ContainsSubstring("there is no such folder"));

  TemporaryFolder untested;
  for (std::string name : {"train.de", "train.en", "val.de", "val.en", "test.fr"}) untested.write(name, "x\n");
  CHECK_THROWS_WITH(read_parallel_tests(untested.path(), "de", "en"), ContainsSubstring("there is no file test*.de"));
}
