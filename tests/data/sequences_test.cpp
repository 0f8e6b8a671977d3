#include "data/sequences.h"

#include "autograd/error.h"
#include "data/word_tokenizer.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::data;

namespace {

const std::vector<Tokens> sequences{{5, 6, 7}, {8, 9, 4, 5}, {6}};

Tokens values(const Ids& ids) { return {ids.values().begin(), ids.values().end()}; }

}  // namespace

TEST_CASE("sequences are padded at their end to the longest") {
  std::vector<int64_t> rows{2, 0, 2};
  PaddedIds batch = pad(sequences, rows);
  CHECK(batch.ids.shape() == Shape{3, 3});
  CHECK(values(batch.ids) == Tokens{6, 0, 0, 5, 6, 7, 6, 0, 0});
  CHECK(batch.lengths.shape() == Shape{3});
  CHECK(values(batch.lengths) == Tokens{1, 3, 1});
}

TEST_CASE("sequences tell their lengths") {
  CHECK(lengths_of(sequences) == std::vector<int64_t>{3, 4, 1});
  CHECK(lengths_of({}).empty());
}

TEST_CASE("a batch needs rows, and rows tokens") {
  std::vector<int64_t> none, low{0, -1}, high{3}, all{0, 1};
  CHECK_THROWS_WITH(pad(sequences, none), ContainsSubstring("there are no rows"));
  CHECK_THROWS_WITH(pad(sequences, low), "pad: there is no row -1; the rows are 0 to 2");
  CHECK_THROWS_WITH(pad(sequences, high), "pad: there is no row 3; the rows are 0 to 2");
  std::vector<Tokens> empty{{4}, {}};
  CHECK_THROWS_WITH(pad(empty, all), ContainsSubstring("sequence 1 has no tokens"));
}

TEST_CASE("a long sequence keeps the end that it is told to") {
  Tokens tokens{1, 2, 3, 4, 5};
  CHECK(cut_to(tokens, 3, Keep::start).tokens == Tokens{1, 2, 3});
  CHECK(cut_to(tokens, 3, Keep::end).tokens == Tokens{3, 4, 5});
  for (Keep keep : {Keep::start, Keep::end}) {
    CHECK(cut_to(tokens, 4, keep).is_cut);
    CHECK(cut_to(tokens, 5, keep).tokens == tokens);
    CHECK_FALSE(cut_to(tokens, 5, keep).is_cut);
    CHECK(cut_to(tokens, 9, keep).tokens == tokens);
    CHECK(cut_to({}, 1, keep).tokens.empty());
    CHECK_THROWS_WITH(cut_to(tokens, 0, keep), ContainsSubstring("need length > 0"));
  }
}

TEST_CASE("tokens of which none is a word are told") {
  for (const Tokens& none : {Tokens{}, Tokens{unknown_id}, Tokens{start_id, unknown_id, unknown_id, end_id}})
    CHECK(all_unknown(none));
  for (const Tokens& some : {Tokens{4}, Tokens{start_id, unknown_id, 4, end_id}}) CHECK_FALSE(all_unknown(some));
}

TEST_CASE("a sentence is enclosed in <start> and <end>") {
  CHECK(enclosed(Tokens{7, 8}) == Tokens{start_id, 7, 8, end_id});
  CHECK(enclosed(Tokens{}) == Tokens{start_id, end_id});
}

TEST_CASE("labels are picked by row") {
  std::vector<std::int32_t> labels{0, 1, 1, 0};
  std::vector<int64_t> rows{3, 1, 1}, high{4};
  CHECK(values(pick(labels, rows)) == Tokens{0, 1, 1});
  CHECK(pick(labels, rows).shape() == Shape{3});
  CHECK_THROWS_WITH(pick(labels, high), "pick: there is no row 4; the rows are 0 to 3");
}

TEST_CASE("a text is encoded, one without words, too") {
  const auto tokenizer = WordTokenizer::train(std::vector<std::string>{"The cat sat."});
  CHECK(tokenizer.decode(encode(tokenizer, "The cat sat.")) == "the cat sat .");
  CHECK(tokenizer.decode(encode(tokenizer, "a cat")) == "<unk> cat");
  CHECK(encode(tokenizer, "<br />") == Tokens{unknown_id});
  CHECK(encode(tokenizer, "\u200B") == Tokens{unknown_id});
}
