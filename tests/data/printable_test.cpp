#include "data/printable.h"

#include "tests/catch.h"

using namespace reel::data;

TEST_CASE("control characters are Unicode's Cc") {
  for (char32_t character : {U'\0', U'\n', U'\x1b', U'\x1f', U'\x7f', U'\x80', U'\x9b', U'\x9f'})
    CHECK(is_control(character));
  for (char32_t character : {U' ', U'a', U'~', U'\xa0', U'\xad', U'\u2028', U'\U0001F600'})
    CHECK_FALSE(is_control(character));
}

TEST_CASE("what would end a line or turn its direction does not stay where it stands") {
  for (char32_t character : {U'\0', U'\n', U'\x9f', U'\u2028', U'\u2029', U'\u202A', U'\u202E', U'\u2066', U'\u2069'})
    CHECK(leaves_its_place(character));
  for (char32_t character : {U' ', U'a', U'\xa0', U'\xad', U'\u061C', U'\u200D', U'\u200F', U'\u202F', U'\u2060'})
    CHECK_FALSE(leaves_its_place(character));
}

TEST_CASE("what is too long ends in an ellipsis") {
  CHECK(shortened(U"", 0).empty());
  CHECK(shortened(U"ßé", 0).empty());
  CHECK(shortened(U"ßé", 1) == U"\u2026");
  CHECK(shortened(U"ßé", 2) == U"ßé");
  CHECK(shortened(U"ßée", 2) == U"ß\u2026");
}

TEST_CASE("what is long is shown in brief") {
  CHECK(brief("a\tb") == "a?b");
  CHECK(brief(std::string(60, 'x')) == std::string(60, 'x'));
  CHECK(brief(std::string(61, 'x')) == std::string(59, 'x') + "\u2026");
}
