#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

using Integers = std::vector<std::int32_t>;

TEST_CASE("where chooses element by element, with all three broadcast") {
  const Ids condition({2, 1}, {1, 0});
  const Tensor c = where(condition, f64({3}, {1, 2, 3}), scalar(9, DType::f64));
  CHECK(c.shape() == Shape{2, 3});
  CHECK(c.to_vector() == Values{1, 2, 3, 9, 9, 9});
  CHECK(where(Ids(Shape{}, {1}), scalar(1), scalar(2)).item() == 1);
  CHECK(where(Ids({1, 0, 1}), f64({3, 1}, {1, 2, 3}), f64({1, 3}, {7, 8, 9})).to_vector() ==
        Values{1, 8, 1, 2, 8, 2, 3, 8, 3});
  const Tensor square = f64({2, 2}, {1, 2, 3, 4});
  CHECK(where(Ids({2, 2}, {1, 0, 0, 1}), square.transpose(0, 1), -square).to_vector() == Values{1, -2, -3, 4});
}

TEST_CASE("where sends each gradient to the side that was chosen, even past NaN and infinity") {
  const Ids condition({2}, {1, 0});
  const auto dx = gradients_of([&](const auto& x) { return where(condition, x[0], x[1]); },
                               {f64({2}, {1, not_a_number}), f64({2}, {infinity, 4})});
  CHECK(dx[0].to_vector() == Values{1, 0});
  CHECK(dx[1].to_vector() == Values{0, 1});
}

TEST_CASE("where refuses what does not fit") {
  CHECK_THROWS_WITH(where(Ids({1, 0}), ones({3}), ones({3})), ContainsSubstring("where: shapes (2,) and (3,)"));
  CHECK_THROWS_WITH(where(Ids({1, 0}), ones({2}), ones({2}, DType::f64)), ContainsSubstring("where: operands are f32"));
}

TEST_CASE("masked_fill fills where the mask is one") {
  const Tensor x = f64({2, 2}, {1, 2, 3, 4});
  CHECK(masked_fill(x, Ids({2, 2}, {1, 0, 0, 1}), -infinity).to_vector() == Values{-infinity, 2, 3, -infinity});
  CHECK(masked_fill(x, Ids({1, 0}), 0).to_vector() == Values{0, 2, 0, 4});
  CHECK(gradient_of([](const Tensor& v) { return masked_fill(v, Ids({1, 0}), 5) * 2.0; }, x) == Values{0, 2, 0, 2});
  CHECK_THROWS_WITH(masked_fill(x, Ids::zeros({3, 2, 2}), 0),
                    ContainsSubstring("masked_fill") && ContainsSubstring("(3, 2, 2)") && ContainsSubstring("(2, 2)"));
}

TEST_CASE("triangles of any matrix, at any diagonal") {
  const Tensor x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(triu(x).to_vector() == Values{1, 2, 3, 0, 5, 6});
  CHECK(triu(x, 1).to_vector() == Values{0, 2, 3, 0, 0, 6});
  CHECK(triu(x, -1).to_vector() == x.to_vector());
  CHECK(triu(x, 5).to_vector() == Values(6, 0));
  CHECK(triu(x, -5).to_vector() == x.to_vector());
  constexpr auto lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
  for (const int64_t diagonal : {lowest, lowest + 1}) CHECK(triu(x, diagonal).to_vector() == x.to_vector());
  CHECK(triu(x, highest).to_vector() == Values(6, 0));
  CHECK(tril(x, lowest).to_vector() == Values(6, 0));
  CHECK(tril(x, highest).to_vector() == x.to_vector());
  CHECK(tril(x).to_vector() == Values{1, 0, 0, 4, 5, 0});
  CHECK(tril(x, 1).to_vector() == Values{1, 2, 0, 4, 5, 6});
  CHECK(tril(x, -1).to_vector() == Values{0, 0, 0, 4, 0, 0});
  CHECK(tril(x, 5).to_vector() == x.to_vector());
  CHECK(tril(x, -5).to_vector() == Values(6, 0));
  CHECK(tril(x.expand({2, 2, 3})).select(0, 1).to_vector() == tril(x).to_vector());
  CHECK(same_bits(tril(x) + triu(x, 1), x));
  CHECK(tril(f64({2, 2}, {1, not_a_number, 3, 4})).to_vector() == Values{1, 0, 3, 4});
  CHECK_THROWS_WITH(triu(ones({3})), ContainsSubstring("triu") && ContainsSubstring("(3,)"));
  CHECK_THROWS_WITH(tril(scalar(1)), ContainsSubstring("tril") && ContainsSubstring("()"));
}

TEST_CASE("choices among nothing") {
  const Tensor none = zeros({0, 3}, DType::f64), row = f64({3}, {1, 2, 3});
  CHECK(where(Ids::zeros({0, 1}), row, row).shape() == Shape{0, 3});
  CHECK(where(Ids({1, 0, 1}), none, row).shape() == Shape{0, 3});
  CHECK(masked_fill(none, Ids({1, 0, 1}), 5).shape() == Shape{0, 3});
  CHECK(triu(none).shape() == Shape{0, 3});
  CHECK(tril(zeros({2, 3, 0})).shape() == Shape{2, 3, 0});
  CHECK(gt(none, row).shape() == Shape{0, 3});
  const auto dx = gradients_of([](const auto& x) { return where(Ids::zeros({0, 1}), x[0], x[1]); }, {none, row});
  CHECK(dx[0].shape() == Shape{0, 3});
  CHECK(dx[1].to_vector() == Values{0, 0, 0});
}

TEST_CASE("comparisons are ids of ones and zeros") {
  const Tensor a = f64({3}, {1, 2, not_a_number}), b = f64({2, 1}, {1, 2});
  CHECK(gt(a, b).shape() == Shape{2, 3});
  CHECK(to_vector(gt(a, b)) == Integers{0, 1, 0, 0, 0, 0});
  CHECK(to_vector(eq(a, b)) == Integers{1, 0, 0, 0, 1, 0});
  CHECK(to_vector(eq(a, a)) == Integers{1, 1, 0});
  CHECK_THROWS_WITH(gt(ones({2}), ones({3})), ContainsSubstring("gt: shapes (2,) and (3,)"));
  CHECK_THROWS_WITH(eq(ones({2}), ones({2}, DType::f64)),
                    ContainsSubstring("eq: operands are f32 and f64, of the shapes (2,) and (2,)"));
}
