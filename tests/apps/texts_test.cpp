#include "apps/common/texts.h"

#include <iostream>
#include <sstream>

#include "apps/common/options.h"
#include "tests/catch.h"

using namespace reel::apps;

namespace {

using Strings = std::vector<std::string>;

/// What is answered, and after it the error if there is one.
Strings answered(const Strings& arguments, const std::string& lines) {
  std::istringstream in(lines);
  Strings texts;
  try {
    answer_texts(arguments, "TEXT", in, [&](const std::string& text) { texts.push_back(text); });
  } catch (const UsageError& error) {
    texts.push_back(std::string("usage: ") + error.what());
  } catch (const reel::Error& error) {
    texts.push_back(std::string("error: ") + error.what());
  }
  return texts;
}

}  // namespace

TEST_CASE("arguments are answered, and otherwise lines", "[texts]") {
  CHECK(answered({"one", "two\nlines"}, "three\n") == Strings{"one", "two\nlines"});
  CHECK(answered({}, "three\nfour") == Strings{"three", "four"});
  CHECK(answered({}, "").empty());
}

TEST_CASE("line ends and a byte-order mark are no part of a text", "[texts]") {
  CHECK(answered({}, "\xEF\xBB\xBFone\r\ntwo\r\n") == Strings{"one", "two"});
  CHECK(answered({}, "one\rtwo\r\rfour") == Strings{"one", "two", "", "four"});
  CHECK(answered({}, "one\rtwo\r") == Strings{"one", "two"});
  CHECK(answered({}, "o\rne\ntw\ro\r\n\nfo\rur") == Strings{"o ne", "tw o", "", "fo ur"});
  CHECK(answered({}, "one\n\xEF\xBB\xBFtwo\n") == Strings{"one", "\xEF\xBB\xBFtwo"});
}

TEST_CASE("a blank line comes as an empty text", "[texts]") {
  CHECK(answered({}, "one\n\n \t\n\r\ntwo\n") == Strings{"one", "", "", "", "two"});
}

TEST_CASE("a blank argument is a mistake, found before the first answer", "[texts]") {
  CHECK(answered({"one", " \t"}, "") == Strings{"usage: TEXT 2 is empty"});
  CHECK(answered({""}, "") == Strings{"usage: TEXT 1 is empty"});
}

TEST_CASE("what is not UTF-8 is refused, saying where", "[texts]") {
  CHECK(answered({"one", "tw\xFF"}, "") == Strings{"usage: TEXT 2 is not UTF-8"});
  CHECK(answered({}, "one\n\ntw\xC3\nthree\n") == Strings{"one", "", "error: standard input, line 3: is not UTF-8"});
}

TEST_CASE("a line is answered before the next is read", "[texts]") {
  std::istringstream in("one\ntwo\n");
  std::vector<std::streamoff> places;
  answer_texts({}, "TEXT", in, [&](const std::string&) { places.push_back(in.tellg()); });
  CHECK(places == std::vector<std::streamoff>{4, 8});
}

TEST_CASE("what a model cannot read of a text is said", "[texts]") {
  std::ostringstream err;
  auto* const before = std::cerr.rdbuf(err.rdbuf());
  warn_of_text("classify predict", "a whole text", {{reel::data::unknown_id, 7}, false}, "--max 3");
  CHECK(err.str().empty());
  warn_of_text("classify predict", "a\nlong text", {{reel::data::unknown_id, 7}, true},
               "--max 2; only its end is read");
  CHECK(err.str() == "classify predict: \"a long text\" is longer than --max 2; only its end is read\n");
  err.str("");
  warn_of_text("classify predict", "x", {{reel::data::unknown_id}, false}, "");
  CHECK(err.str() == "classify predict: of \"x\" the model knows no word that it reads\n");
  std::cerr.rdbuf(before);
}
