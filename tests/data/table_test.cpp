#include "data/table.h"

#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::data;
using Columns = std::vector<std::string>;

TEST_CASE("a TSV has a row a line, and quotes mean nothing") {
  TemporaryFolder folder;
  auto rows = read_table(folder.write("a.tsv", "1\t\"so\", he said\n0\t\"\n\t"));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].columns == Columns{"1", "\"so\", he said"});
  CHECK(rows[1].columns == Columns{"0", "\""});
  CHECK(rows[2].columns == Columns{"", ""});
  CHECK(rows[2].line == 3);
}

TEST_CASE("rows end at line ends alone, and what is empty is left out") {
  TemporaryFolder folder;
  std::string odd = "next\u0085line\u2028para\u2029graph\x0B\x0C\x1E";
  for (std::string ending : {".tsv", ".csv", ".txt"}) {
    std::string tab = ending == ".csv" ? "," : "\t";
    auto rows = read_table(folder.write("a" + ending, "\xEF\xBB\xBF\r\n1" + tab + odd + "\r\n\r\n0" + tab + "x\n\n"));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].columns == Columns{"1", odd});
    CHECK(rows[0].line == 2);
    CHECK(rows[1].columns == Columns{"0", "x"});
    CHECK(rows[1].line == 4);
  }
}

TEST_CASE("a CSV follows RFC 4180") {
  TemporaryFolder folder;
  auto rows = read_table(folder.write("a.csv",
                                      "label,text\r\n"
                                      "pos,\"one, two\"\r\n"
                                      "\"neg\",\"he said \"\"no\"\"\"\n"
                                      "pos,\"two\r\nlines\n\nor four\"\n"
                                      "neg,\"\"\n"
                                      "pos,5\" disk\tand tab\n"
                                      ",\"\"\"\""));
  REQUIRE(rows.size() == 7);
  CHECK(rows[1].columns == Columns{"pos", "one, two"});
  CHECK(rows[2].columns == Columns{"neg", "he said \"no\""});
  CHECK(rows[3].columns == Columns{"pos", "two\nlines\n\nor four"});
  CHECK(rows[3].line == 4);
  CHECK(rows[4].columns == Columns{"neg", ""});
  CHECK(rows[4].line == 8);
  CHECK(rows[5].columns == Columns{"pos", "5\" disk\tand tab"});
  CHECK(rows[6].columns == Columns{"", "\""});
}

TEST_CASE("rows of a CSV may end with CR though a column holds an LF") {
  TemporaryFolder folder;
  const auto rows = read_table(folder.write("old.csv", "a,b\r\"one\ntwo\",c\rd,e\r"));
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].columns == std::vector<std::string>{"one\ntwo", "c"});
}

TEST_CASE("a CSV is one whether its ending is in capitals or not") {
  TemporaryFolder folder;
  for (std::string ending : {".csv", ".CSV", ".Csv"}) {
    CHECK(read_table(folder.write("data" + ending, "pos,\"a, b\"\n"))[0].columns == Columns{"pos", "a, b"});
  }
  for (std::string name : {"csv", "data.csv.tsv", "data.csvx"}) {
    CHECK(read_table(folder.write(name, "a,b\tc\n"))[0].columns == Columns{"a,b", "c"});
  }
}

TEST_CASE("a table with a fault is refused, with its line") {
  TemporaryFolder folder;
  auto refused = [&](const std::string& name, const std::string& bytes, const std::string& message) {
    CHECK_THROWS_WITH(read_table(folder.write(name, bytes)), ContainsSubstring(name + message));
  };
  refused("few.tsv", "1\ta\n\n0\n", ", line 3: 1 columns; need 2, as on line 1");
  refused("many.tsv", "1\ta\n0\tb\tc\n", ", line 2: 3 columns; need 2");
  refused("many.csv", "1,a\n0,b,c\n", ", line 2: 3 columns; need 2");
  refused("open.csv", "1,a\n0,\"b\n1,c\n", ", line 2: a quote is opened and never closed");
  refused("open.csv", "1,\"\"\"", ", line 1: a quote is opened and never closed");
  refused("after.csv", "1,\"a\nb\" c\n", ", line 2: text follows a closing quote");
  refused("blank.tsv", "\n\n", ": has no rows");
  refused("empty.csv", "", ": is empty");
  refused("latin.csv", "1,caf\xE9\n", ": not UTF-8 at byte 5, line 1");
  CHECK_THROWS_WITH(read_table(folder / "none.csv"), ContainsSubstring("there is no such file"));
}
