#include "data/tokenizer.h"

#include <string>
#include <vector>

#include "autograd/error.h"
#include "autograd/utf8.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::data;
using namespace std::string_literals;

namespace {

const std::vector<std::string> texts{"To be, or not to be:\n\tthat is the question.", "ἐν ἀρχῇ ἦν ὁ λόγος",
                                     "Все счастливые семьи похожи друг на друга",
                                     "naïve 日本語 🎬🎞️ e\u0301", "\0\x01"s};

}  // namespace

TEST_CASE("a character's id is its place among the sorted distinct characters") {
  auto tokenizer = CharTokenizer::train("banana é🎬");
  CHECK(tokenizer.vocabulary() == " abné🎬");
  CHECK(tokenizer.vocabulary_size() == 6);
  CHECK(tokenizer.encode("nab🎬é ") == Tokens{3, 1, 2, 5, 4, 0});
  CHECK(tokenizer.decode(Tokens{5, 4, 1}) == "🎬éa");
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.decode({}) == "");
}

TEST_CASE("texts of one-byte to four-byte characters survive both tokenizers") {
  for (const std::string& text : texts) {
    for (std::string name : {"char", "byte"}) {
      auto tokenizer = train_tokenizer(name, text);
      Tokens ids = tokenizer->encode(text);
      CHECK(ids.size() == (name == "char" ? decode_utf8(text).size() : text.size()));
      CHECK(tokenizer->decode(ids) == text);
    }
  }
}

TEST_CASE("a tokenizer is restored from its name and vocabulary") {
  for (const std::string& text : texts) {
    for (std::string name : {"char", "byte"}) {
      auto tokenizer = train_tokenizer(name, text, Unseen::replace);
      auto restored = restore_tokenizer(name, tokenizer->vocabulary());
      CHECK(restored->vocabulary() == tokenizer->vocabulary());
      CHECK(restored->vocabulary_size() == tokenizer->vocabulary_size());
      CHECK(restored->encode(text) == tokenizer->encode(text));
      CHECK(restored->encode("\u2603", Unseen::replace) == tokenizer->encode("\u2603", Unseen::replace));
    }
  }
}

TEST_CASE("unseen characters are named, each once, in the order of the text") {
  auto tokenizer = CharTokenizer::train("abc");
  CHECK_THROWS_WITH(
      tokenizer.encode("aßb→ß"),
      "not in the tokenizer's vocabulary of 3 characters: 'ß' (U+00DF), '→' (U+2192); leave them out, or train "
      "on a text that has them");
  CHECK_THROWS_WITH(tokenizer.encode("🎬"), ContainsSubstring("'🎬' (U+1F3AC)"));
  CHECK_THROWS_WITH(tokenizer.encode("0123456789"), ContainsSubstring("'7' (U+0037) and 2 more;"));
}

TEST_CASE("an error stays on one line when a control character is unseen") {
  auto tokenizer = CharTokenizer::train("abc");
  std::string message;
  try {
    tokenizer.encode("\n\x1B[2J\u0085");
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK_THAT(message, ContainsSubstring("U+000A, U+001B, '[' (U+005B)") && ContainsSubstring("U+0085;"));
  for (char c : message) CHECK((c < 0 || c >= ' '));
}

TEST_CASE("unseen characters are replaced where both the training and the encoding ask for it") {
  auto strict = CharTokenizer::train("abc");
  CHECK(strict.vocabulary_size() == 3);
  CHECK_THROWS_AS(strict.encode("axb", Unseen::replace), Error);

  auto lenient = CharTokenizer::train("abc🎬", Unseen::replace);
  CHECK(lenient.vocabulary() == "abc\uFFFD🎬");
  CHECK(lenient.encode("axb", Unseen::replace) == Tokens{0, 3, 1});
  CHECK(lenient.decode(Tokens{0, 3, 1}) == "a\uFFFDb");
  CHECK_THROWS_WITH(lenient.encode("axb"), ContainsSubstring("'x'"));

  CHECK(CharTokenizer::train("a\uFFFD", Unseen::replace).vocabulary() == "a\uFFFD");
}

TEST_CASE("a character tokenizer refuses texts it cannot read") {
  CHECK_THROWS_WITH(CharTokenizer::train(""), ContainsSubstring("empty text"));
  CHECK_THROWS_WITH(CharTokenizer::train("ab\xFF"), ContainsSubstring("not UTF-8 at byte 2"));
  CHECK_THROWS_WITH(CharTokenizer::train("ab").encode("a\xC3"), ContainsSubstring("not UTF-8 at byte 1"));
}

TEST_CASE("a damaged vocabulary is refused") {
  CHECK_THROWS_WITH(restore_tokenizer("byte", "ba"), ContainsSubstring("the vocabulary is damaged"));
  CHECK_THROWS_WITH(CharTokenizer(""), ContainsSubstring("empty"));
  CHECK_THROWS_WITH(CharTokenizer("aab"), ContainsSubstring("'a' (U+0061) follows 'a' (U+0061)"));
  CHECK_THROWS_WITH(CharTokenizer("acb"), ContainsSubstring("'b' (U+0062) follows 'c' (U+0063)"));
  CHECK_THROWS_WITH(CharTokenizer("ab\xC3"), ContainsSubstring("vocabulary: not UTF-8"));
}

TEST_CASE("ids outside the vocabulary are refused") {
  auto tokenizer = CharTokenizer::train("abc");
  for (std::int32_t id : {-1, 3}) {
    CHECK_THROWS_WITH(tokenizer.decode(Tokens{id}), ContainsSubstring("no token " + std::to_string(id)));
  }
  for (std::int32_t id : {-1, 256}) CHECK_THROWS_AS(ByteTokenizer().decode(Tokens{id}), Error);
}

TEST_CASE("the byte tokenizer keeps any bytes and shows them as text") {
  ByteTokenizer tokenizer;
  CHECK(tokenizer.vocabulary_size() == 256);
  CHECK(tokenizer.encode("A\xFFé") == Tokens{65, 255, 0xC3, 0xA9});
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(tokenizer.decode(tokenizer.encode(all)) == all);
  CHECK(replace_invalid_utf8(tokenizer.decode(Tokens{65, 255, 0xC3, 0xA9, 0xC3})) == "A\uFFFDé\uFFFD");
}

TEST_CASE("a tokenizer of another name is refused") {
  CHECK_THROWS_WITH(train_tokenizer("word", "abc"), "there is no tokenizer 'word'; need char or byte");
  CHECK_THROWS_WITH(restore_tokenizer("", "abc"), ContainsSubstring("no tokenizer ''"));
}
