#include "apps/classify/corpus.h"

#include "tests/catch.h"
#include "tests/threads.h"

using namespace reel;
using namespace reel::apps;
using reel::tests::WithThreads;

TEST_CASE("any number of threads encodes the built-in reviews, each in its place", "[classify]") {
  const ClassifyConfig config;
  auto corpus = [&](int threads) {
    const WithThreads with(threads);
    return read_labelled_corpus(config, {}, std::nullopt);
  };
  const data::LabelledText reviews = *read_classify_test(config, {});
  const LabelledCorpus one = corpus(1);
  REQUIRE(one.train.tokens.size() > 500);  // several chunks
  for (int threads : {2, 5}) {
    const LabelledCorpus several = corpus(threads);
    CHECK(several.tokenizer.vocabulary() == one.tokenizer.vocabulary());
    CHECK(several.train.tokens == one.train.tokens);
    CHECK(several.scored.tokens == one.scored.tokens);

    const WithThreads with(threads);
    const EncodedTexts encoded = encode(reviews, one.tokenizer, config);
    REQUIRE(encoded.tokens.size() == reviews.texts.size());
    for (std::size_t i = 0; i < reviews.texts.size(); ++i) {
      REQUIRE(encoded.tokens[i] == encode(reviews.texts[i], one.tokenizer, config).tokens);
    }
  }
}
