#include "data/characters.h"

#include <string_view>

#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel::data;

namespace {

void check_all(std::u32string_view characters, CharacterKind kind) {
  for (char32_t character : characters) {
    INFO("U+" << std::hex << static_cast<std::uint32_t>(character));
    CHECK(kind_of(character) == kind);
  }
}

}  // namespace

TEST_CASE("letters, digits and marks of any script make words") {
  check_all(U"azAZ09äßÉøŁǅªº²¼µ", CharacterKind::word);
  check_all(U"άςΩϐжЁїҐԱևאتहไ日本かナ한ღ", CharacterKind::word);
  check_all(U"\u0301\u0308\u02BC٣३\U00010400", CharacterKind::word);
}

TEST_CASE("punctuation and symbols are punctuation") {
  check_all(U"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", CharacterKind::punctuation);
  check_all(U"¡¿§©«»°±·×÷´¶", CharacterKind::punctuation);
  check_all(U"–—‘’“”„†•…‰‹›€™←∀■☃。、「」！？\uFFFD🎬😀", CharacterKind::punctuation);
  check_all(U"·;՞։׳،؟۔।", CharacterKind::punctuation);
}

TEST_CASE("white space, control and formatting characters separate") {
  check_all(U" \t\n\r\u00A0\u1680\u2003\u2028\u202F\u3000\u0085", CharacterKind::separator);
  check_all(std::u32string_view(U"\0\x01\x1B\x7F\u0096\u00AD\u200B\u200D\u200E\uFE0F\uFEFF", 11),
            CharacterKind::separator);
}

TEST_CASE("is_space is Python's str.isspace") {
  constexpr std::u32string_view spaces =
      U"\x09\x0A\x0B\x0C\x0D\x1C\x1D\x1E\x1F\x20\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
      U"\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000";
  for (char32_t c = 0; c < 0x10000; ++c) {
    INFO("U+" << std::hex << static_cast<std::uint32_t>(c));
    if (is_space(c) != (spaces.find(c) != spaces.npos)) FAIL("wrong");
  }
}

TEST_CASE("a text of white space alone is blank") {
  for (const char* text : {"", " ", "\t\n\v\f\r\x1C", "\u00A0", " \u2003\u3000\u0085"}) CHECK(is_blank(text));
  for (const char* text : {"a", "  .", "\u00A0x", "\u200B", " \x7F", "é", "日本 ", "<br />"})
    CHECK_FALSE(is_blank(text));
  CHECK_THROWS_AS(is_blank(" \xFF"), reel::Error);
}

TEST_CASE("white space at the ends is trimmed, within a text it stays") {
  for (const char* text : {"", " ", "\u00A0\u3000\n"}) CHECK(trimmed(text).empty());
  CHECK(trimmed("so so") == "so so");
  CHECK(trimmed("\u2003 ä\tb\u00A0\r\n") == "ä\tb");
  CHECK_THROWS_AS(trimmed("a\xFF"), reel::Error);
}
