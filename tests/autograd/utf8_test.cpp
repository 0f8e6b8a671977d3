#include "autograd/utf8.h"

#include <string>
#include <vector>

#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel;
using namespace std::string_literals;

namespace {

struct Malformed {
  std::string bytes;
  std::string why;
  int pieces;  // how many U+FFFD it is shown as
};

const std::vector<Malformed> malformed{
    {"\x80", "continuation byte", 1},
    {"\xBF", "continuation byte", 1},
    {"\xC0\x80", "overlong", 2},          // U+0000 in two bytes
    {"\xC1\xBF", "overlong", 2},          // U+007F in two bytes
    {"\xE0\x9F\xBF", "overlong", 3},      // U+07FF in three bytes
    {"\xF0\x8F\xBF\xBF", "overlong", 4},  // U+FFFF in four bytes
    {"\xED\xA0\x80", "surrogate", 3},     // U+D800
    {"\xED\xBF\xBF", "surrogate", 3},     // U+DFFF
    {"\xF4\x90\x80\x80", "above U+10FFFF", 4},
    {"\xF5\x80\x80\x80", "never occurs", 4},
    {"\xFF", "never occurs", 1},
    {"\xC3", "cut short", 1},
    {"\xE2\x82", "cut short", 1},
    {"\xF0\x9F\x98", "cut short", 1},
    {"\xF0\x9F\x98\xC3", "cut short", 2},
};

}  // namespace

TEST_CASE("characters of every length go to UTF-8 and back") {
  // the first and the last of each length, and those next to the surrogates
  std::u32string characters = {0x0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF};
  std::string text =
      "\0A\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBD\xEF\xBF\xBF"s
      "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"s;
  CHECK(encode_utf8(characters) == text);
  CHECK(decode_utf8(text) == characters);
  CHECK_NOTHROW(check_utf8(text, "text"));
  CHECK(is_utf8(text));
  CHECK(replace_invalid_utf8(text) == text);
}

TEST_CASE("every character survives") {
  for (char32_t character = 0; character <= 0x10FFFF; ++character) {
    if (character == 0xD800) character = 0xE000;
    if (decode_utf8(encode_utf8(character)) != std::u32string{character}) FAIL(static_cast<std::uint32_t>(character));
  }
}

TEST_CASE("an empty text has no characters") {
  CHECK(decode_utf8("").empty());
  CHECK(encode_utf8(U""s).empty());
  CHECK(replace_invalid_utf8("").empty());
}

TEST_CASE("what is not UTF-8 is refused with the reason, the byte and the line") {
  for (const Malformed& example : malformed) {
    INFO(example.why);
    CHECK_THROWS_AS(decode_utf8(example.bytes), reel::Error);
    CHECK_THROWS_AS(check_utf8(example.bytes, "text"), reel::Error);
    CHECK_FALSE(is_utf8("a" + example.bytes + "b"));
    CHECK_THROWS_WITH(decode_utf8("caf\xC3\xA9\n\n" + example.bytes + "x", "menu.txt"),
                      ContainsSubstring("menu.txt: not UTF-8 at byte 7, line 3: ") && ContainsSubstring(example.why));
  }
  CHECK_THROWS_WITH(decode_utf8("a\xC3\n"), "text: not UTF-8 at byte 1, line 1: a character cut short");
}

TEST_CASE("what is not UTF-8 is shown as replacement characters, and what surrounds it is kept") {
  for (const Malformed& example : malformed) {
    INFO(example.why);
    std::string shown = "a";
    for (int i = 0; i < example.pieces; ++i) shown += "\xEF\xBF\xBD";
    CHECK(replace_invalid_utf8("a" + example.bytes) == shown);
    CHECK(replace_invalid_utf8("a" + example.bytes + "\xC3\xA9") == shown + "\xC3\xA9");
  }
  // the example of the Unicode standard, section 3.9
  CHECK(replace_invalid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64") ==
        "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
}

TEST_CASE("surrogates and what is above U+10FFFF are not encoded") {
  for (char32_t character : {0xD800u, 0xDFFFu, 0x110000u}) CHECK_THROWS_AS(encode_utf8(character), reel::Error);
}
