#include "optim/clip.h"

#include "autograd/row_gradient.h"
#include "tests/autograd/values.h"
#include "tests/threads.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::tests;

namespace {

Tensor with_gradient(const Values& gradient, DType dtype = DType::f64) {
  const Shape shape{static_cast<int64_t>(gradient.size())};
  Tensor parameter = zeros(shape, dtype).set_requires_grad();
  parameter.set_grad(tensor(shape, gradient, dtype));
  return parameter;
}

}  // namespace

TEST_CASE("clip: gradients are scaled down together, and the norm they had is returned") {
  const std::vector<Tensor> parameters{with_gradient({3, 0}), with_gradient({4})};
  CHECK(clip_grad_norm(parameters, 1) == 5);
  CHECK(parameters[0].grad().to_vector()[0] == Approx(0.6));
  CHECK(parameters[0].grad().to_vector()[1] == 0);
  CHECK(parameters[1].grad().to_vector()[0] == Approx(0.8));
}

TEST_CASE("clip: below the limit nothing is touched") {
  const std::vector<Tensor> parameters{with_gradient({0.3}), with_gradient({0.4})};
  CHECK(clip_grad_norm(parameters, 1) == Approx(0.5));
  CHECK(parameters[0].grad().to_vector() == Values{0.3});
  CHECK(parameters[1].grad().to_vector() == Values{0.4});
}

TEST_CASE("clip: parameters without gradients do not count") {
  Tensor none = zeros({2}).set_requires_grad();
  CHECK(clip_grad_norm({none, with_gradient({0, 2})}, 1) == 2);
  CHECK_FALSE(none.grad().defined());
  CHECK(clip_grad_norm({none}, 1) == 0);
  CHECK(clip_grad_norm({}, 1) == 0);
}

TEST_CASE("clip: a norm that is not finite leaves the gradients as they are") {
  for (double bad : {infinity, -infinity, not_a_number}) {
    const std::vector<Tensor> parameters{with_gradient({5, bad}), with_gradient({7})};
    CHECK_FALSE(std::isfinite(clip_grad_norm(parameters, 1)));
    CHECK(same_values(parameters[0].grad().to_vector(), {5, bad}));
    CHECK(parameters[1].grad().to_vector() == Values{7});
  }
}

TEST_CASE("clip: squares of large f32 do not overflow, of small ones not vanish") {
  const std::vector<Tensor> large{with_gradient({3e30, 4e30}, DType::f32)};
  CHECK(clip_grad_norm(large, 1) == Approx(5e30));
  CHECK(large[0].grad().to_vector()[0] == Approx(0.6));
  CHECK(clip_grad_norm({with_gradient({3e-30, 4e-30}, DType::f32)}, 1) == Approx(5e-30));
  const std::vector<Tensor> largest{with_gradient({1.8e38, 2.4e38}, DType::f32)};  // the factor is denormal
  CHECK(clip_grad_norm(largest, 1) == Approx(3e38));
  CHECK(largest[0].grad().to_vector()[0] == Approx(0.6));
  CHECK(clip_grad_norm(largest, 1e-3) == Approx(1));
}

TEST_CASE("clip: both dtypes together") {
  const std::vector<Tensor> parameters{with_gradient({3}, DType::f32), with_gradient({4}, DType::f64)};
  CHECK(clip_grad_norm(parameters, 2.5) == Approx(5));
  CHECK(parameters[0].grad().to_vector()[0] == Approx(1.5));
  CHECK(parameters[1].grad().to_vector()[0] == Approx(2));
}

TEST_CASE("clip: of a table that gave some rows, these are squared and scaled") {
  const auto read = [] {
    const Tensor table = zeros({1000, 2}, DType::f64).set_requires_grad();
    Tape tape;
    tape.backward(sum(embedding(table, Ids({700, 3, 700})) * f64({3, 2}, {1, 0, 0, 4, 2, 12})));
    return table;
  };
  const std::vector<Tensor> rows{read(), with_gradient({0, 84})}, dense{read(), with_gradient({0, 84})};
  CHECK(dense[0].grad().defined());
  CHECK(clip_grad_norm(rows, 8.5) == Approx(85.0));
  REQUIRE(rows[0].row_grad());
  CHECK(rows[0].row_grad()->values.to_vector()[1] == Approx(0.4));
  CHECK(clip_grad_norm(dense, 8.5) == Approx(85.0));
  for (std::size_t i = 0; i < 2; ++i) CHECK(same_bits(rows[i].grad(), dense[i].grad()));
  CHECK(clip_grad_norm(rows, 100) == Approx(8.5));
}

TEST_CASE("clip: rows have the same norm on any number of threads") {
  std::vector<double> norms;
  for (const int threads : {1, 2, 3}) {
    const WithThreads with(threads);
    const Tensor table = zeros({5000, 32}).set_requires_grad();
    Generator generator(1);
    Ids ids = Ids::zeros({4000});
    for (std::int32_t& id : ids.values()) id = static_cast<std::int32_t>(generator.below(5000));
    Tape tape;
    tape.backward(sum(embedding(table, ids) * randn({4000, 32}, DType::f32, generator)));
    norms.push_back(clip_grad_norm({table}, 1));
  }
  CHECK(norms[1] == norms[0]);
  CHECK(norms[2] == norms[0]);
}

TEST_CASE("gradients are scaled, all of them and those that are rows") {
  const Tensor plain = with_gradient({3, -4}), none = zeros({2}).set_requires_grad();
  const Tensor table = zeros({10, 2}, DType::f64).set_requires_grad();
  Tape tape;
  tape.backward(sum(embedding(table, Ids({7, 3, 7})) * f64({3, 2}, {1, 0, 0, 4, 2, 12})));
  scale_grads({plain, none, table}, 0.5);
  CHECK(plain.grad().to_vector() == Values{1.5, -2});
  CHECK_FALSE(none.has_grad());
  REQUIRE(table.row_grad());
  CHECK(table.row_grad()->values.to_vector() == Values{0, 2, 1.5, 6});
  for (double bad : {0.0, -1.0, not_a_number}) {
    CHECK_THROWS_WITH(scale_grads({plain}, bad), ContainsSubstring("scale_grads: the factor is"));
  }
}

TEST_CASE("clip: refuses a limit that is no norm") {
  for (double bad : {0.0, -1.0, not_a_number}) {
    CHECK_THROWS_WITH(clip_grad_norm({}, bad), ContainsSubstring("clip_grad_norm: max_norm is"));
  }
}
