#include "autograd/creation.h"

#include <cmath>

#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

TEST_CASE("tensors from values") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(x.dtype() == DType::f32);
  CHECK(x.is_contiguous());
  CHECK(x.to_vector() == Values{1, 2, 3, 4, 5, 6});
  CHECK(scalar(2.5).shape() == Shape{});
  CHECK(scalar(2.5, DType::f64).dtype() == DType::f64);
  CHECK(tensor({0, 2}, {}).numel() == 0);
  CHECK_THROWS_WITH(tensor({2, 3}, {1, 2}), ContainsSubstring("tensor: 2 values") && ContainsSubstring("(2, 3)"));
}

TEST_CASE("constant and counted tensors") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    CHECK(full({2, 2}, 7, dtype).to_vector() == Values(4, 7));
    CHECK(zeros({3}, dtype).to_vector() == Values(3, 0));
    CHECK(ones({}, dtype).item() == 1);
    CHECK(arange(4, dtype).to_vector() == Values{0, 1, 2, 3});
    CHECK(arange(0, dtype).shape() == Shape{0});
    CHECK_THROWS_WITH(arange(-1, dtype), ContainsSubstring("arange: ") && ContainsSubstring("(-1,)"));
    CHECK_THROWS_WITH(zeros({2, -1}, dtype), ContainsSubstring("zeros: ") && ContainsSubstring("(2, -1)"));
    CHECK(arange(4, dtype).dtype() == dtype);
  }
}

TEST_CASE("shapes that cannot be are refused") {
  constexpr int64_t large = int64_t{1} << 32;
  CHECK_THROWS_WITH(tensor({large, large}, {}),
                    ContainsSubstring("tensor: the shape (4294967296, 4294967296) has more"));
  CHECK_THROWS_WITH(zeros({2, -1}), ContainsSubstring("(2, -1)") && ContainsSubstring("negative"));
  CHECK_THROWS_WITH(zeros({int64_t{1} << 40, int64_t{1} << 40}), ContainsSubstring("more elements"));
}

TEST_CASE("random tensors follow their generator") {
  Generator one(5), same(5), other(6);
  const Tensor x = randn({3, 4}, DType::f64, one);
  CHECK(same_bits(x, randn({3, 4}, DType::f64, same)));
  CHECK_FALSE(same_bits(x, randn({3, 4}, DType::f64, other)));
  CHECK_FALSE(same_bits(x, randn({3, 4}, DType::f64, one)));

  manual_seed(9);
  const Tensor first = uniform({5}, 0, 1);
  manual_seed(9);
  CHECK(same_bits(first, uniform({5}, 0, 1)));
  CHECK(uniform({2}, 3, 3).to_vector() == std::vector<double>{3, 3});
  CHECK_THROWS_WITH(uniform({5}, 3, 1), ContainsSubstring("uniform: from 3 to 1"));
  CHECK_THROWS_AS(uniform({5}, std::nan(""), 1), Error);
}

TEST_CASE("an f32 tensor holds the rounded numbers of the f64 one") {
  Generator one(5), same(5);
  const Values wide = randn({100}, DType::f64, one).to_vector(), narrow = randn({100}, DType::f32, same).to_vector();
  for (std::size_t i = 0; i < wide.size(); ++i) CHECK(narrow[i] == static_cast<double>(static_cast<float>(wide[i])));
}

TEST_CASE("random tensors have the moments they should have") {
  Generator generator(1);
  const Tensor normal = randn({20000}, DType::f64, generator);
  CHECK(mean(normal).item() == Approx(0).margin(0.03));
  CHECK(var(normal, {0}).item() == Approx(1).margin(0.04));
  const Tensor even = uniform({20000}, -2, 4, DType::f64, generator);
  CHECK(mean(even).item() == Approx(1).margin(0.06));
  CHECK(var(even, {0}).item() == Approx(3).margin(0.1));
  CHECK(max(even, 0).values.item() < 4);
  CHECK(max(-even, 0).values.item() <= 2);
}
