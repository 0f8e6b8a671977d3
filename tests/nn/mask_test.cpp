#include "nn/mask.h"

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

using Table = std::vector<std::int32_t>;

TEST_CASE("mask: none hides nothing") {
  CHECK(to_vector(Mask::none().hidden(2, 3)) == Table{0, 0, 0, 0, 0, 0});
  const Tensor scores = normal({2, 3}, 1);
  CHECK(Mask::none().apply(scores).same(scores));
}

TEST_CASE("mask: causal hides what comes after") {
  const Ids hidden = Mask::causal().hidden(3, 3);
  CHECK(hidden.shape() == Shape{3, 3});
  CHECK(to_vector(hidden) == Table{0, 1, 1,  //
                                   0, 0, 1,  //
                                   0, 0, 0});
}

TEST_CASE("mask: first hides the present too") {
  CHECK(to_vector(Mask::first().hidden(3, 3)) == Table{1, 1, 1,  //
                                                       0, 1, 1,  //
                                                       0, 0, 1});
}

TEST_CASE("mask: the last query stands at the last key") {
  CHECK(to_vector(Mask::causal().hidden(2, 4)) == Table{0, 0, 0, 1,  //
                                                        0, 0, 0, 0});
  CHECK(to_vector(Mask::first().hidden(2, 4)) == Table{0, 0, 1, 1,  //
                                                       0, 0, 0, 1});
  // Queries from before the first key see nothing.
  CHECK(to_vector(Mask::causal().hidden(3, 2)) == Table{1, 1,  //
                                                        0, 1,  //
                                                        0, 0});
  CHECK(Mask::causal().hidden(0, 3).numel() == 0);
  CHECK(Mask::causal().hidden(3, 0).numel() == 0);
}

TEST_CASE("mask: apply puts -inf at hidden keys, for every batch and head") {
  const Tensor masked = Mask::causal().apply(ones({2, 1, 2, 2}));
  CHECK(masked.shape() == Shape{2, 1, 2, 2});
  CHECK(masked.to_vector() == Values{1, -infinity, 1, 1, 1, -infinity, 1, 1});
}
