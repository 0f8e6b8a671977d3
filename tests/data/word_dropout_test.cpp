#include "data/word_dropout.h"

#include <algorithm>

#include "autograd/error.h"
#include "data/word_tokenizer.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::data;

TEST_CASE("word dropout: hides about its share of the words, and leaves the others") {
  Ids tokens = Ids::arange(10'000);
  Generator generator(3);
  const Ids kept = drop_words(tokens.view({100, 100}), 0.3, -1, generator);
  CHECK(kept.shape() == Shape{100, 100});
  int64_t hidden = 0;
  for (std::int32_t i = 0; i < 10'000; ++i) {
    const std::int32_t now = kept.values()[static_cast<std::size_t>(i)];
    CHECK((now == i || now == -1));
    hidden += now == -1 ? 1 : 0;
  }
  CHECK(hidden == Approx(3000).margin(150));
  CHECK(tokens.values()[1] == 1);  // the caller's own stay as they are
}

TEST_CASE("word dropout: none, all, and the same for the same seed") {
  const Ids tokens({2, 3}, {1, 2, 3, 4, 5, 6});
  Generator generator(3), again(3);
  CHECK(std::ranges::equal(drop_words(tokens, 0, 9, generator).values(), tokens.values()));
  CHECK(std::ranges::equal(drop_words(tokens, 0.5, 9, generator).values(), drop_words(tokens, 0.5, 9, again).values()));
  const Ids none = drop_words(tokens, 1, 9, generator);
  CHECK(std::ranges::count(none.values(), 9) == 6);
  CHECK_THROWS_AS(drop_words(tokens, 1.5, 9, generator), Error);
}

TEST_CASE("word dropout: padding stays padding, and changes nothing for the words") {
  const Ids words({3, 4}, {5, 6, 7, 8, 9, 4, 5, 6, 7, 8, 9, 4});
  Ids padded({3, 4}, {words.values().begin(), words.values().end()});
  for (std::size_t place : {6u, 7u, 9u, 10u, 11u}) padded.values()[place] = pad_id;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Generator generator(seed), same(seed);
    const Ids kept = drop_words(padded, 0.5, unknown_id, generator), whole = drop_words(words, 0.5, unknown_id, same);
    for (std::size_t place = 0; place < 12; ++place) {
      const bool is_pad = padded.values()[place] == pad_id;
      CHECK(kept.values()[place] == (is_pad ? pad_id : whole.values()[place]));
    }
    CHECK(generator.uniform() == same.uniform());
  }
}
