#include "autograd/mask.h"

#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

using Table = std::vector<std::int32_t>;

TEST_CASE("mask: none hides nothing") {
  CHECK(to_vector(Mask::none().hidden_in_time(2, 3)) == Table{0, 0, 0, 0, 0, 0});
  const Tensor scores = away_from_zero({2, 3}, 1);
  CHECK(Mask::none().apply(scores).same(scores));
}

TEST_CASE("mask: causal hides what comes after") {
  const Ids hidden = Mask::causal().hidden_in_time(3, 3);
  CHECK(hidden.shape() == Shape{3, 3});
  CHECK(to_vector(hidden) == Table{0, 1, 1,  //
                                   0, 0, 1,  //
                                   0, 0, 0});
}

TEST_CASE("mask: first hides the present too") {
  CHECK(to_vector(Mask::first().hidden_in_time(3, 3)) == Table{1, 1, 1,  //
                                                               0, 1, 1,  //
                                                               0, 0, 1});
}

TEST_CASE("mask: the last query stands at the last key") {
  CHECK(to_vector(Mask::causal().hidden_in_time(2, 4)) == Table{0, 0, 0, 1,  //
                                                                0, 0, 0, 0});
  CHECK(to_vector(Mask::first().hidden_in_time(2, 4)) == Table{0, 0, 1, 1,  //
                                                               0, 0, 0, 1});
  // Queries from before the first key see nothing.
  CHECK(to_vector(Mask::causal().hidden_in_time(3, 2)) == Table{1, 1,  //
                                                                0, 1,  //
                                                                0, 0});
  CHECK(Mask::causal().hidden_in_time(0, 3).numel() == 0);
  CHECK(Mask::causal().hidden_in_time(3, 0).numel() == 0);
}

TEST_CASE("mask: apply puts -inf at hidden keys, for every batch and head") {
  const Tensor masked = Mask::causal().apply(ones({2, 1, 2, 2}));
  CHECK(masked.shape() == Shape{2, 1, 2, 2});
  CHECK(masked.to_vector() == Values{1, -infinity, 1, 1, 1, -infinity, 1, 1});
}

TEST_CASE("mask: padding hides the pad tokens of each text from all its queries") {
  const Ids tokens({2, 3}, {5, 6, 9,  //
                            9, 5, 9});
  const Tensor masked = Mask::padding(tokens, 9).apply(ones({2, 2, 3}));
  CHECK(masked.to_vector() == Values{1, 1, -infinity, 1, 1, -infinity,  //
                                     -infinity, 1, -infinity, -infinity, 1, -infinity});
  CHECK(same_bits(Mask::padding(Ids({2, 3}, {0, 0, 1, 1, 0, 1})).apply(ones({2, 2, 3})), masked));
}

TEST_CASE("mask: padding is the same for every head") {
  const Mask mask = Mask::padding(Ids({2, 2}, {0, 1, 1, 0}));
  const Tensor masked = mask.apply(ones({2, 3, 1, 2}));
  for (int64_t head = 0; head < 3; ++head) {
    CHECK(masked.select(0, 0).select(0, head).to_vector() == Values{1, -infinity});
    CHECK(masked.select(0, 1).select(0, head).to_vector() == Values{-infinity, 1});
  }
}

TEST_CASE("mask: padding and time combined hide what either one hides") {
  const Mask padding = Mask::padding(Ids({2, 3}, {0, 0, 1, 1, 0, 0}));
  const Tensor scores = away_from_zero({2, 2, 3, 3}, 2);
  for (const Mask& time : {Mask::none(), Mask::causal(), Mask::first()}) {
    const Tensor both = (padding & time).apply(scores);
    CHECK(same_bits(both, padding.apply(time.apply(scores))));
    CHECK(same_bits(both, (time & padding).apply(scores)));
    CHECK(to_vector((padding & time).hidden_in_time(3, 3)) == to_vector(time.hidden_in_time(3, 3)));
  }
  CHECK((padding & Mask::causal()).apply(ones({2, 3, 3})).to_vector() ==
        Values{1, -infinity, -infinity, 1, 1, -infinity, 1, 1, -infinity,  //
               -infinity, -infinity, -infinity, -infinity, 1, -infinity, -infinity, 1, 1});
}

TEST_CASE("mask: in time is what is left without padding") {
  const Mask both = Mask::padding(Ids({1, 3}, {1, 0, 0})) & Mask::first();
  CHECK(both.padding().has_value());
  CHECK_FALSE(both.in_time().padding().has_value());
  CHECK(to_vector(both.in_time().hidden_in_time(3, 3)) == to_vector(Mask::first().hidden_in_time(3, 3)));
}

TEST_CASE("mask: of two in time, the stricter one counts") {
  auto hidden = [](const Mask& mask) { return to_vector(mask.hidden_in_time(3, 3)); };
  CHECK(hidden(Mask::none() & Mask::causal()) == hidden(Mask::causal()));
  CHECK(hidden(Mask::first() & Mask::causal()) == hidden(Mask::first()));
  CHECK(hidden(Mask::causal() & Mask::causal()) == hidden(Mask::causal()));
}

TEST_CASE("mask: what does not fit is an error") {
  const Mask padding = Mask::padding(Ids::zeros({2, 3}));
  CHECK_THROWS_WITH(padding & padding, ContainsSubstring("both masks hide padding"));
  CHECK_THROWS_WITH(Mask::padding(Ids::zeros({3})), ContainsSubstring("Mask::padding: the table is (3,)"));
  CHECK_THROWS_WITH(padding.apply(ones({2, 3})), ContainsSubstring("padding needs (batch, ..., queries, keys)"));
  CHECK_THROWS_WITH(Mask::causal().apply(ones({3})),
                    ContainsSubstring("Mask: scores are (3,); need (..., queries, keys)"));
  CHECK_THROWS_AS(padding.apply(ones({2, 2, 4})), Error);  // other keys
  CHECK_THROWS_AS(padding.apply(ones({3, 2, 3})), Error);  // another batch
}
