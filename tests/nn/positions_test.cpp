#include "nn/positions.h"

#include <cmath>

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

double cosine_similarity(const Tensor& a, const Tensor& b) {
  return sum(a * b).item() / std::sqrt(sum(a * a).item() * sum(b * b).item());
}

}  // namespace

TEST_CASE("positions: sines and cosines of a published table") {
  const Tensor table = sinusoidal_positions(5, 10, DType::f64);
  CHECK(table.shape() == Shape{5, 10});
  CHECK(table.select(0, 0).to_vector() == Values{0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  const Values published{0.8415, 0.5403, 0.1578, 0.9875, 0.0251, 0.9997, 0.0040, 1.0000, 0.0006, 1.0000};
  const Values second = table.select(0, 1).to_vector();
  for (std::size_t i = 0; i < published.size(); ++i) CHECK(second[i] == Approx(published[i]).margin(5e-5));
}

TEST_CASE("positions: similarity depends on the distance") {
  const Tensor table = sinusoidal_positions(5, 10, DType::f64);
  auto similarity = [&](int64_t i, int64_t j) { return cosine_similarity(table.select(0, i), table.select(0, j)); };
  for (int64_t i = 0; i < 4; ++i) CHECK(similarity(i, i + 1) == Approx(0.9054891).margin(5e-8));
  CHECK(similarity(0, 4) == Approx(0.6293746).margin(5e-8));
}

TEST_CASE("positions: a narrower type, an odd width, nothing") {
  const Tensor table = sinusoidal_positions(3, 5);
  CHECK(table.dtype() == DType::f32);
  CHECK(table.select(0, 2).to_vector()[4] == Approx(std::sin(2 / std::pow(10000, 0.8))));
  CHECK(sinusoidal_positions(0, 4).numel() == 0);
  CHECK_THROWS_WITH(sinusoidal_positions(-1, 4), ContainsSubstring("sinusoidal_positions: -1 of width 4; need"));
}

TEST_CASE("positions: more than memory has room for") {
  CHECK_THROWS_WITH(sinusoidal_positions(int64_t{1} << 31, int64_t{1} << 20), ContainsSubstring("out of memory"));
}
