#include "data/padding.h"

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

TEST_CASE("sequences are padded to a given width") {
  std::vector<int64_t> rows{1, 2};
  PaddedIds batch = pad(sequences, rows, 5);
  CHECK(batch.ids.shape() == Shape{2, 5});
  CHECK(values(batch.ids) == Tokens{8, 9, 4, 5, 0, 6, 0, 0, 0, 0});
  CHECK(values(pad(sequences, rows, 4).ids) == Tokens{8, 9, 4, 5, 6, 0, 0, 0});
  CHECK_THROWS_WITH(pad(sequences, rows, 3), "pad: sequence 1 has 4 tokens; need at most the width of 3; use cut_to");
  CHECK_THROWS_WITH(pad(sequences, rows, 0), ContainsSubstring("need width > 0"));
}

TEST_CASE("a batch needs rows, and rows tokens") {
  std::vector<int64_t> none, low{0, -1}, high{3}, all{0, 1};
  CHECK_THROWS_WITH(pad(sequences, none), ContainsSubstring("there are no rows"));
  CHECK_THROWS_WITH(pad(sequences, low), "pad: there is no row -1; the rows are 0 to 2");
  CHECK_THROWS_WITH(pad(sequences, high, 9), "pad: there is no row 3; the rows are 0 to 2");
  std::vector<Tokens> empty{{4}, {}};
  CHECK_THROWS_WITH(pad(empty, all), ContainsSubstring("sequence 1 has no tokens"));
}

TEST_CASE("a long sequence loses the end that it is told to") {
  Tokens tokens{1, 2, 3, 4, 5};
  CHECK(cut_to(tokens, 3, Cut::end) == Tokens{1, 2, 3});
  CHECK(cut_to(tokens, 3, Cut::start) == Tokens{3, 4, 5});
  for (Cut cut : {Cut::end, Cut::start}) {
    CHECK(cut_to(tokens, 5, cut) == tokens);
    CHECK(cut_to(tokens, 9, cut) == tokens);
    CHECK(cut_to({}, 1, cut).empty());
    CHECK_THROWS_WITH(cut_to(tokens, 0, cut), ContainsSubstring("need length > 0"));
  }
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

TEST_CASE("texts are encoded together, and an example of a batch is shown decoded") {
  std::vector<std::string> texts{"The cat sat.", "a cat"};
  auto tokenizer = WordTokenizer::train(std::span(texts).first(1));
  auto encoded = encode_all(tokenizer, texts);
  REQUIRE(encoded.size() == 2);
  std::vector<int64_t> rows{1, 0};
  PaddedIds batch = pad(encoded, rows);
  CHECK(decode_row(batch, 0, tokenizer) == "<unk> cat");
  CHECK(decode_row(batch, 1, tokenizer) == "the cat sat .");
  for (int64_t row : {-1, 2})
    CHECK_THROWS_WITH(decode_row(batch, row, tokenizer), ContainsSubstring("there is no row"));
}
