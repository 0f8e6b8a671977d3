#include "data/word_tokenizer.h"

#include <vector>

#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/threads.h"

using namespace reel::data;
using reel::tests::WithThreads;
using Words = std::vector<std::string>;

namespace {

const WordRules cased{false, true}, without_punctuation{true, false};

/// Ids from 4 on are those of: the (3 times), cat, sat (twice), mat, on.
WordTokenizer small() { return WordTokenizer::train(Words{"The cat sat on the mat", "the cat sat"}); }

}  // namespace

TEST_CASE("a text is cut into words and punctuation") {
  CHECK(split_words("Two dogs, one cat.") == Words{"two", "dogs", ",", "one", "cat", "."});
  CHECK(split_words("a T-shirt (8/10)") == Words{"a", "t", "-", "shirt", "(", "8", "/", "10", ")"});
  CHECK(split_words("3.5 stars; 80s") == Words{"3", ".", "5", "stars", ";", "80s"});
  CHECK(split_words("wait... what?!! -- no") == Words{"wait", "...", "what", "?", "!!", "--", "no"});
  CHECK(split_words("<pad> </s>") == Words{"<", "pad", ">", "<", "/", "s", ">"});
  CHECK(split_words("") == Words{});
  CHECK(split_words(" \t\r\n\u00A0\u2003\u0085\u200B") == Words{});
}

TEST_CASE("an apostrophe between letters belongs to the word") {
  CHECK(split_words("Don't the man's dogs' tails wag?") ==
        Words{"don't", "the", "man's", "dogs", "'", "tails", "wag", "?"});
  CHECK(split_words("don’t l’été rock'n'roll") == Words{"don't", "l'été", "rock'n'roll"});
  CHECK(split_words("'twas 'quoted' a''b it'") == Words{"'", "twas", "'", "quoted", "'", "a", "''", "b", "it", "'"});
}

TEST_CASE("what has no picture does not cut a word in two") {
  CHECK(split_words("co\u00ADoperate \u00AD x\u00AD-\u00ADy") == Words{"cooperate", "x", "-", "y"});
  CHECK(split_words("می\u200Cخواهم क\u094D\u200Dष") == Words{"می\u200Cخواهم", "क\u094D\u200Dष"});
  CHECK(split_words("\u200Ca\u200D b\u200D👩\u200D💻") == Words{"a", "b", "👩", "💻"});
}

TEST_CASE("words of other alphabets are lowered and kept whole") {
  CHECK(split_words("Ärger über ÉTÉ, STRAẞE!") == Words{"ärger", "über", "été", ",", "straße", "!"});
  CHECK(split_words("ΕΝ ΑΡΧΗΙ «Ёжик»…") == Words{"εν", "αρχηι", "«", "ёжик", "»", "…"});
  CHECK(split_words("e\u0301tude 日本語。🎬🎬") == Words{"e\u0301tude", "日本語", "。", "🎬🎬"});
}

TEST_CASE("HTML's line breaks separate words") {
  CHECK(split_words("one<br />two<br/>three<br>four<BR  />five<br /><br />six") ==
        Words{"one", "two", "three", "four", "five", "six"});
  CHECK(split_words("<br") == Words{"<", "br"});
  CHECK(split_words("<br / >") == Words{"<", "br", "/", ">"});
  CHECK(split_words("<bread>") == Words{"<", "bread", ">"});
  CHECK(split_words("a <BR /> b", cased) == Words{"a", "b"});
}

TEST_CASE("the rules can keep capitals and drop punctuation") {
  CHECK(split_words("Don't SHOUT, Ärger!", cased) == Words{"Don't", "SHOUT", ",", "Ärger", "!"});
  CHECK(split_words("Don't SHOUT... (t-shirt)", without_punctuation) == Words{"don't", "shout", "t", "shirt"});
  CHECK(split_words("?!", without_punctuation) == Words{});
}

TEST_CASE("ids follow frequency, and code points among equals") {
  WordTokenizer tokenizer = small();
  CHECK(tokenizer.vocabulary_size() == 9);
  CHECK(tokenizer.encode("the cat sat mat on") == Tokens{4, 5, 6, 7, 8});
  CHECK(tokenizer.decode(Tokens{0, 1, 2, 3, 4, 8}) == "<pad> <unk> <start> <end> the on");
  // by code points é comes after z, and ﬀ (U+FB00) before 𐐨 (U+10428)
  auto ties = WordTokenizer::train(Words{"é z 𐐨 ﬀ a zz"});
  CHECK(ties.decode(Tokens{4, 5, 6, 7, 8, 9}) == "a z zz é ﬀ 𐐨");
}

TEST_CASE("a vocabulary keeps to its limits") {
  Words texts{"a a a b b c", "d"};
  CHECK(WordTokenizer::train(texts, {6, 1}).vocabulary() == "lower case, punctuation kept\na\nb");
  CHECK(WordTokenizer::train(texts, {100, 2}).vocabulary() == "lower case, punctuation kept\na\nb");
  CHECK(WordTokenizer::train(texts, {5, 2}).vocabulary() == "lower case, punctuation kept\na");
  CHECK(WordTokenizer::train(texts, {100, 1}).vocabulary_size() == 8);
  CHECK_THROWS_WITH(WordTokenizer::train(texts, {4, 1}), ContainsSubstring("maximum size is 4; need more than the 4"));
  CHECK_THROWS_WITH(WordTokenizer::train(texts, {100, 4}), ContainsSubstring("no word occurs 4 times or more in 2"));
  CHECK_THROWS_WITH(WordTokenizer::train(Words{}), ContainsSubstring("no word"));
  CHECK_THROWS_WITH(WordTokenizer::train(Words{"a\xFF"}), ContainsSubstring("not UTF-8"));
}

TEST_CASE("a vocabulary does not depend on the number of threads, nor on which of them counts a word") {
  Words texts{"a b c", "b c d", "c d", "d a e", "d"};  // five threads see one text each
  for (int threads : {1, 2, 3, 5, 16}) {
    const WithThreads with(threads);
    INFO(threads << " threads");
    CHECK(WordTokenizer::train(texts, {100, 2}).vocabulary() == "lower case, punctuation kept\nd\nc\na\nb");
    CHECK_THROWS_WITH(WordTokenizer::train(Words{"a", "b", "c", "d\xFF"}), ContainsSubstring("not UTF-8"));
  }
}

TEST_CASE("unseen words become <unk>, or are named") {
  WordTokenizer tokenizer = small();
  CHECK(tokenizer.encode("The dog sat, twice: sat.", Unseen::replace) == Tokens{4, 1, 6, 1, 1, 1, 6, 1});
  CHECK_THROWS_WITH(tokenizer.encode("The dog sat, twice, dog"),
                    "not in the tokenizer's vocabulary of 9 words: 'dog', ',', 'twice'; leave them out, or train on a "
                    "text that has them");
  CHECK_THROWS_WITH(tokenizer.encode("0 1 2 3 4 5 6 7 8 9"), ContainsSubstring("'7' and 2 more"));
  CHECK(tokenizer.encode("", Unseen::refuse).empty());
}

TEST_CASE("no text encodes to a special token but <unk>") {
  auto tokenizer = WordTokenizer::train(Words{"<pad> <unk> <start> <end> pad unk start end"});
  for (std::int32_t id : tokenizer.encode("<pad> <start> <end> <unk>")) CHECK(id > end_id);
}

TEST_CASE("a word tokenizer is restored from its vocabulary") {
  Words texts{"Don't! ÄÖÜ <br /> ... naïve Ёжик 日本 x-ray", "don't ' don't"};
  for (WordRules rules : {WordRules{}, cased, without_punctuation, WordRules{false, false}}) {
    auto tokenizer = WordTokenizer::train(texts, {}, rules);
    WordTokenizer restored(tokenizer.vocabulary());
    CHECK(restored.rules().lower_case == rules.lower_case);
    CHECK(restored.rules().punctuation == rules.punctuation);
    CHECK(restored.vocabulary() == tokenizer.vocabulary());
    CHECK(restored.vocabulary_size() == tokenizer.vocabulary_size());
    for (const std::string& text : texts) {
      CHECK(restored.encode(text) == tokenizer.encode(text));
      std::string joined;
      for (const std::string& word : split_words(text, rules)) joined += (joined.empty() ? "" : " ") + word;
      CHECK(restored.decode(restored.encode(text)) == joined);
    }
  }
}

TEST_CASE("a damaged vocabulary of words is refused") {
  std::string rules = "lower case, punctuation kept";
  CHECK_THROWS_WITH(WordTokenizer(""), ContainsSubstring("begins with ''"));
  CHECK_THROWS_WITH(WordTokenizer("the\ncat"), ContainsSubstring("begins with 'the'; need a line with the rules"));
  CHECK_THROWS_WITH(WordTokenizer(rules), ContainsSubstring("has no words"));
  CHECK_THROWS_WITH(WordTokenizer(rules + "\nthe\ncat\nthe"), ContainsSubstring("'the' is there twice"));
  CHECK_THROWS_WITH(WordTokenizer(rules + "\nthe\n\ncat"), ContainsSubstring("token 5 is not one word"));
  CHECK_THROWS_WITH(WordTokenizer(rules + "\nthe\n"), ContainsSubstring("token 5 is not one word"));
  for (const char* line : {"\f", "two words", "Upper", "a-b", "..,", "<br />"}) {
    CHECK_THROWS_WITH(WordTokenizer(rules + "\nthe\n" + line), ContainsSubstring("token 5 is not one word"));
  }
  CHECK_THROWS_WITH(WordTokenizer(rules + "\nth\xC3"), ContainsSubstring("vocabulary: not UTF-8"));
}

TEST_CASE("word ids outside the vocabulary are refused") {
  for (std::int32_t id : {-1, 9}) {
    CHECK_THROWS_WITH(small().decode(Tokens{id}), ContainsSubstring("there is no token " + std::to_string(id)));
  }
}
