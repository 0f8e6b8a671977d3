#include "autograd/ops/dropout.h"

#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

TEST_CASE("dropout zeroes a share p and keeps the mean") {
  Generator generator(1);
  for (const double p : {0.1, 0.5, 0.9}) {
    constexpr int64_t count = 20000;
    Values values = dropout(ones({count}, DType::f64), p, generator).to_vector();
    int64_t zeroed = 0;
    for (const double value : values) {
      zeroed += value == 0;
      if (value != 0) CHECK(value == Approx(1 / (1 - p)).epsilon(1e-8));
    }
    const double deviation = std::sqrt(count * p * (1 - p));
    CHECK(std::abs(static_cast<double>(zeroed) - count * p) < 5 * deviation);
  }
}

TEST_CASE("dropout keeps the mean however near p is to 0 or 1") {
  for (const double p : {1e-12, 1e-9, 0.1, 1 - 1e-9, 1 - 1e-10, 1 - 1e-15}) {
    const kernels::DropoutMask mask = dropout_mask(p, {});
    const double kept = 1 - std::ldexp(mask.threshold, -32);  // the share of words that are not below it
    INFO("p is 1 - " << 1 - p);
    CHECK(kept * mask.scale == Approx(1).epsilon(1e-15));
    CHECK(std::abs(kept - (1 - p)) <= 0x1p-32);
  }
}

TEST_CASE("neighbours are dropped independently") {
  Generator generator(2);
  const Values values = dropout(ones({40000}), 0.5, generator).to_vector();
  for (const std::size_t lag : {1u, 2u, 4u, 8u, 16u}) {
    int equal = 0;
    for (std::size_t i = 0; i + lag < values.size(); ++i) equal += values[i] == values[i + lag];
    CHECK(std::abs(equal - 20000) < 5 * 100);
  }
}

TEST_CASE("the backward pass drops what the forward pass dropped") {
  Generator generator(3);
  const Tensor x = positive({7, 13}, 1).set_requires_grad();
  Tensor y;
  {
    Tape tape;
    y = dropout(x, 0.4, generator);
    tape.backward(sum(y));
  }
  CHECK(same_values(y.to_vector(), (x * x.grad()).to_vector()));
}

TEST_CASE("the mask depends on the generator's state alone") {
  const Tensor x = positive({5, 8}, 1);
  Generator one(4), same(4), other(5);
  const Tensor first = dropout(x, 0.5, one), second = dropout(x, 0.5, one);
  CHECK_FALSE(same_bits(first, second));
  CHECK(same_bits(dropout(x, 0.5, same), first));
  const Generator::State between = same.state();
  CHECK(same_bits(dropout(x, 0.5, same), second));
  CHECK_FALSE(same_bits(dropout(x, 0.5, other), first));
  other.set_state(between);
  CHECK(same_bits(dropout(x, 0.5, other), second));

  // Neither type nor strides matter.
  const auto zeros_of = [](const Tensor& y) { return to_vector(eq(y, scalar(0, y.dtype()))); };
  Generator again(4), transposed(4);
  CHECK(zeros_of(dropout(ones({5, 8}), 0.5, again)) == zeros_of(first));
  CHECK(same_bits(dropout(x.transpose(0, 1).contiguous().transpose(0, 1), 0.5, transposed), first));

  manual_seed(8);
  const Tensor by_default = dropout(x, 0.5);
  manual_seed(8);
  CHECK(same_bits(dropout(x, 0.5), by_default));
}

TEST_CASE("dropout of all and of nothing") {
  Generator generator(6);
  const Tensor x = positive({3, 4}, 1);
  CHECK(dropout(x, 0, generator).same(x));
  CHECK(generator.state().position == 0);
  CHECK(dropout(x, 1, generator).to_vector() == Values(12, 0));
  CHECK(dropout(tensor({3}, {infinity, not_a_number, -1}), 1, generator).to_vector() == Values{0, 0, 0});
  CHECK(gradient_of([](const Tensor& v) { return dropout(v, 1); }, x) == Values(12, 0));
  {  // and so is the gradient's own gradient
    const Tensor leaf = clone(x).set_requires_grad(), weights = positive({3, 4}, 2).set_requires_grad();
    Tape tape;
    const Tensor dx = tape.gradients(sum(dropout(leaf, 1) * weights), {leaf}, CreateGraph::yes)[0];
    CHECK(dx.to_vector() == Values(12, 0));
    CHECK(tape.gradients(sum(dx), {weights})[0].to_vector() == Values(12, 0));
  }
  CHECK(dropout(zeros({0, 3}), 0.5, generator).shape() == Shape{0, 3});
  CHECK(dropout(scalar(0), 0.5, generator).shape() == Shape{});
}

TEST_CASE("dropout refuses what is no probability") {
  CHECK_THROWS_WITH(dropout(ones({2}), -0.1), ContainsSubstring("dropout: p is -0.1"));
  CHECK_THROWS_WITH(dropout(ones({2}), 1.1), ContainsSubstring("dropout: p is 1.1;"));
  CHECK_THROWS_WITH(dropout(ones({2}), 1.0000001), ContainsSubstring("dropout: p is 1.0000001;"));
  CHECK_THROWS_AS(dropout(ones({2}), not_a_number), Error);
}
