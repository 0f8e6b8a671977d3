#include "nn/rows.h"

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

TEST_CASE("rows: picked, dropped, repeated and re-ordered") {
  const std::vector<std::vector<std::int32_t>> all{{2, 0, 1}, {1}, {0, 0, 2, 2}, {0, 1}};
  for (const Shape& shape : {Shape{3}, Shape{3, 4}, Shape{3, 2, 1, 5}, Shape{3, 0}}) {
    const Tensor x = normal(shape, 1);
    for (const auto& order : all) {
      const std::vector<int64_t> indices(order.begin(), order.end());
      CHECK(same_bits(pick_rows(x, Ids(order)), rows(x, 0, indices)));
    }
    CHECK(pick_rows(x, Ids(std::vector<std::int32_t>{})).size(0) == 0);
  }
  const Tensor turned = normal({4, 3}, 2).transpose(0, 1);
  CHECK(same_bits(pick_rows(turned, Ids({2}, {2, 1})), rows(turned, 0, {2, 1})));

  const Ids table({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(to_vector(pick_rows(table, Ids({4}, {2, 0, 0, 1}))) == std::vector<std::int32_t>{5, 6, 1, 2, 1, 2, 3, 4});
  CHECK(pick_rows(table, Ids({1}, {1})).shape() == Shape{1, 2});
  CHECK(pick_rows(Ids::zeros({3, 0}), Ids({2}, {1, 1})).shape() == Shape{2, 0});
}

TEST_CASE("rows: nothing is copied where all stay in their places") {
  const Tensor x = normal({3, 2}, 3);
  CHECK(pick_rows(x, Ids::arange(3)).same(x));
  CHECK_FALSE(pick_rows(x, Ids::arange(2)).shares_storage(x));
}

TEST_CASE("rows: a column more") {
  const Ids table = append_column(append_column(Ids::zeros({2, 0}), Ids({2}, {1, 2})), Ids({2}, {3, 4}));
  CHECK(table.shape() == Shape{2, 2});
  CHECK(to_vector(table) == std::vector<std::int32_t>{1, 3, 2, 4});
}

TEST_CASE("rows: what does not fit is an error") {
  const Ids table({2, 2}, {1, 2, 3, 4});
  for (std::int32_t row : {-1, 2}) {
    CHECK_THROWS_WITH(pick_rows(table, Ids({1}, {row})), ContainsSubstring("in a table (2, 2)"));
    CHECK_THROWS_AS(pick_rows(normal({2, 2}, 4), Ids({1}, {row})), Error);
  }
  CHECK_THROWS_WITH(append_column(table, Ids::zeros({3})), ContainsSubstring("3 tokens for a table (2, 2)"));
}
