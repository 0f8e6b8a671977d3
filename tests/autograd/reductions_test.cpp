#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

using Integers = std::vector<std::int32_t>;

TEST_CASE("sums over any axes") {
  const Tensor x = arange(24, DType::f64).view({2, 3, 4});
  CHECK(sum(x).shape() == Shape{});
  CHECK(sum(x).item() == 276);
  CHECK(sum(x, {0}).to_vector() == Values{12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34});
  CHECK(sum(x, {1}).to_vector() == Values{12, 15, 18, 21, 48, 51, 54, 57});
  CHECK(sum(x, {-1}).to_vector() == Values{6, 22, 38, 54, 70, 86});
  CHECK(sum(x, {0, 2}).to_vector() == Values{60, 92, 124});
  CHECK(sum(x, {2, 0}).to_vector() == Values{60, 92, 124});
  CHECK(sum(x, {0, 1}).to_vector() == Values{60, 66, 72, 78});
  CHECK(sum(x, {0, 2}, KeepDim::yes).shape() == Shape{1, 3, 1});
  CHECK(sum(x, {0, 1, 2}, KeepDim::yes).shape() == Shape{1, 1, 1});
  CHECK(sum(x.transpose(0, 2), {0}).to_vector() == Values{6, 54, 22, 70, 38, 86});
  CHECK(same_bits(sum(x, {}), x));
}

TEST_CASE("means and variances") {
  const Tensor x = f64({2, 4}, {1, 2, 3, 6, 5, 5, 5, 5});
  CHECK(mean(x).item() == 4);
  CHECK(mean(x, {1}).to_vector() == Values{3, 5});
  CHECK(mean(x, {0}, KeepDim::yes).shape() == Shape{1, 4});
  CHECK(var(x, {1}).to_vector()[0] == Approx(14.0 / 3));
  CHECK(var(x, {1}, 0).to_vector() == Values{3.5, 0});
  CHECK(var(x, {-1}, 1, KeepDim::yes).shape() == Shape{2, 1});
  CHECK(mean(scalar(3)).item() == 3);
  CHECK(std::isnan(var(ones({1}), {0}).item()));
  CHECK(var(ones({1}), {0}, 0).item() == 0);
  // Far from zero, a sum of squares minus a square of sums would have nothing left.
  CHECK(var(x + 1e8, {1}, 0).to_vector()[0] == Approx(3.5));
  // The rounded mean of many large numbers does not show in the variance.
  const Tensor large = full({1000}, 100000.1);
  CHECK(mean(large).item() != large.to_vector()[0]);
  CHECK(var(large, {0}).item() < 1e-9);
}

TEST_CASE("the mean of equal numbers is that number, to the last bit") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (int64_t n = 1; n < 200; ++n) CHECK(mean(ones({n}, dtype)).item() == 1);
  }
}

TEST_CASE("a sum over no axes has memory of its own") {
  for (const Tensor& x : {scalar(3), ones({2})}) {
    const Tensor y = sum(x, {});
    CHECK_FALSE(y.shares_storage(x));
    CHECK(y.to_vector() == x.to_vector());
  }
}

TEST_CASE("sums and means of nothing") {
  const Tensor none = zeros({2, 0, 3}, DType::f64);
  CHECK(sum(none).item() == 0);
  CHECK(sum(none, {1}).to_vector() == Values(6, 0));
  CHECK(sum(none, {0}).shape() == Shape{0, 3});
  CHECK(sum(zeros({0}), {0}).item() == 0);
  CHECK(std::isnan(mean(none).item()));
  CHECK(mean(none, {0}).shape() == Shape{0, 3});
  CHECK(gradients_of([](const auto& x) { return sum(x[0], {1}); }, {none})[0].shape() == none.shape());
}

TEST_CASE("reductions refuse axes that are not there or named twice") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH(sum(x, {2}), ContainsSubstring("sum: there is no axis 2"));
  CHECK_THROWS_WITH(sum(x, {1, -1}), "sum: axis 1 is named twice; counted from the end, it is axis -1");
  CHECK_THROWS_WITH(mean(x, {-3}), ContainsSubstring("mean: there is no axis -3"));
  CHECK_THROWS_WITH(var(x, {5}), ContainsSubstring("var: there is no axis 5"));
  CHECK_THROWS_WITH(max(x, 2), ContainsSubstring("max: there is no axis 2"));
  CHECK_THROWS_WITH(argmax(x, 2), ContainsSubstring("argmax: there is no axis 2"));
  CHECK_THROWS_WITH(argmax(zeros({2, 0}), 1), ContainsSubstring("argmax") && ContainsSubstring("(2, 0)"));
  CHECK_THROWS_WITH(max(zeros({2, 0}), 1), ContainsSubstring("max") && ContainsSubstring("(2, 0)"));
  CHECK_THROWS_AS(max(scalar(1), 0), Error);
}

TEST_CASE("a million equal numbers add up") {
  constexpr int64_t count = 1'000'000;
  const Tensor x = full({count}, 0.1);
  const double exact = count * static_cast<double>(0.1f);
  const auto relative_error = [&](const Tensor& total) { return std::abs(total.item() - exact) / exact; };
  CHECK(relative_error(sum(x)) < 1e-6);
  CHECK(relative_error(mean(x) * static_cast<double>(count)) < 1e-6);
  CHECK(relative_error(sum(x.view({1, count}), {1})) < 1e-6);
  CHECK(relative_error(sum(x.view({1000, 1000}))) < 1e-6);
  CHECK(relative_error(sum(sum(x.view({1000, 1000}), {0}))) < 1e-6);
  const Tensor columns = sum(x.view({count, 1}).expand({count, 3}), {0});
  for (int column = 0; column < 3; ++column) CHECK(relative_error(columns.select(0, column)) < 1e-6);
}

TEST_CASE("sums of numbers of any size agree with a sum in higher precision") {
  Generator generator(3);
  const Tensor x = randn({300, 700}, DType::f32, generator);
  double total = 0, magnitude = 0;
  for (const double value : x.to_vector()) {
    total += value;
    magnitude += std::abs(value);
  }
  CHECK(std::abs(sum(x).item() - total) < 1e-7 * magnitude);
  CHECK(std::abs(sum(sum(x, {0})).item() - total) < 1e-7 * magnitude);
}

TEST_CASE("max and where it is") {
  const Tensor x = f64({2, 3}, {1, 7, 3, 9, 5, 9});
  const Max rows = max(x, 1), columns = max(x, 0);
  CHECK(rows.values.to_vector() == Values{7, 9});
  CHECK(to_vector(rows.indices) == Integers{1, 0});
  CHECK(columns.values.to_vector() == Values{9, 7, 9});
  CHECK(to_vector(columns.indices) == Integers{1, 0, 1});
  CHECK(to_vector(argmax(x.transpose(0, 1), 0)) == Integers{1, 0});
  CHECK(max(f64({3}, {1, 5, 2}), -1).values.item() == 5);
  CHECK(max(zeros({0, 3}), 1).values.shape() == Shape{0});
}

TEST_CASE("max along the first of two axes, of more columns than are searched at once") {
  const Tensor x = away_from_zero({5, 600}, 3);
  const Ids found = argmax(x, 0), expected = argmax(contiguous(x.transpose(0, 1)), 1);
  CHECK(std::ranges::equal(found.values(), expected.values()));
  CHECK(max(x, 0).values.to_vector() == max(x.transpose(0, 1), 1).values.to_vector());
}

TEST_CASE("max and argmax along an empty axis are refused, each by its name") {
  CHECK_THROWS_WITH(max(zeros({2, 0}), 1), "max: axis 1 of (2, 0) is empty; there is no largest element");
  CHECK_THROWS_WITH(argmax(zeros({2, 0}), -1), "argmax: axis 1 of (2, 0) is empty; there is no largest element");
  CHECK(max(zeros({2, 0}), 0).values.shape() == Shape{0});
}

TEST_CASE("max and argmax are refused where ids could not tell places apart") {
  const Tensor x = zeros({1}).expand({most_ids + 1});  // one number in memory
  CHECK_THROWS_WITH(max(x, 0), ContainsSubstring("max: axis 0 of (2147483649,) is too long"));
  CHECK_THROWS_WITH(argmax(x, 0), ContainsSubstring("argmax: axis 0 of (2147483649,) is too long"));
}

TEST_CASE("the first of equal ones gets the gradient of max") {
  const auto largest = [](const Tensor& x) { return max(x, 0).values; };
  CHECK(gradient_of(largest, f64({4}, {1, 5, 5, 2})) == Values{0, 1, 0, 0});
  CHECK(gradient_of(largest, f64({3}, {-infinity, -infinity, -infinity})) == Values{1, 0, 0});
}

TEST_CASE("a NaN is the largest of all") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = tensor({5}, {1, infinity, not_a_number, 3, not_a_number}, dtype);
    CHECK(to_vector(argmax(x, 0)) == Integers{2});
    CHECK(std::isnan(max(x, 0).values.item()));
    CHECK(std::isnan(sum(x).item()));
  }
}
