#include "apps/translate/corpus.h"

#include "tests/catch.h"

using namespace reel;
using namespace reel::apps;
using data::Tokens;

namespace {

/// From id 4 on in this order: the most frequent first.
data::WordTokenizer words(const std::string& text) { return data::WordTokenizer::train(std::vector{text}); }

Tokens values(const Ids& ids) { return {ids.values().begin(), ids.values().end()}; }

}  // namespace

TEST_CASE("a sentence is framed, and cut where it is too long", "[translate]") {
  const data::WordTokenizer tokenizer = words("a a a b b c");
  const data::CutTokens whole = encode_sentence("C a", tokenizer, 2);
  CHECK(whole.tokens == Tokens{data::start_id, 6, 4, data::end_id});
  CHECK_FALSE(whole.is_cut);
  const data::CutTokens cut = encode_sentence("c other b", tokenizer, 2);
  CHECK(cut.tokens == Tokens{data::start_id, 6, data::unknown_id, data::end_id});
  CHECK(cut.is_cut);
  CHECK(encode_sentence("<br />", tokenizer, 2).tokens == Tokens{data::start_id, data::end_id});  // has no words
}

TEST_CASE("a target that is cut has no end", "[translate]") {
  const TokenizerPair tokenizers{words("a a b"), words("x x y")};
  const EncodedPairs pairs = encode_pairs({{"a", "b a b", "a b a"}, {"y", "x", "y x x"}}, tokenizers, 2);
  CHECK(pairs.sources == std::vector<Tokens>{{2, 4, 3}, {2, 5, 4, 3}, {2, 4, 5, 3}});
  CHECK(pairs.targets == std::vector<Tokens>{{2, 5, 3}, {2, 4, 3}, {2, 5, 4}});
  CHECK(pairs.cut == 2);
  CHECK(encode_pairs({{"a"}, {"y"}}, tokenizers, 2).cut == 0);
}

TEST_CASE("a decoder is to say each word after it has read those before", "[translate]") {
  const EncodedPairs pairs{.sources = {{2, 4, 3}, {2, 7, 3}, {2, 5, 6, 3}},
                           .targets = {{2, 8, 9, 3}, {2, 3}, {2, 7, 3}}};
  const PairBatch batch = make_batch(pairs, std::vector<std::int64_t>{2, 0});
  CHECK(batch.sources.shape() == Shape{2, 4});
  CHECK(values(batch.sources) == Tokens{2, 5, 6, 3, 2, 4, 3, data::pad_id});
  CHECK(batch.inputs.shape() == Shape{2, 3});
  CHECK(values(batch.inputs) == Tokens{2, 7, data::pad_id, 2, 8, 9});
  CHECK(values(batch.outputs) == Tokens{7, 3, 8, 9, 3});
}

TEST_CASE("without a folder there are built-in sentences", "[translate]") {
  const TranslateConfig config;
  const data::ParallelData pairs = read_pairs(config);
  CHECK(pairs.train.sources.size() == 10000);
  CHECK(read_tests(config, "").size() == pairs.tests.size());
  CHECK_THROWS_WITH(read_tests(config, "missing"), ContainsSubstring("missing"));
}
