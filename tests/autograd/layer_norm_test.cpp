#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

/// The formula, composed: the oracle of the fused operation, which a residual is then added to.
Tensor composed(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon = 1e-5) {
  const Tensor centered = x - mean(x, {-1}, KeepDim::yes);
  const Tensor y = centered / sqrt(mean(centered * centered, {-1}, KeepDim::yes) + epsilon);
  return weight.defined() ? y * weight + bias : y;
}

}  // namespace

TEST_CASE("layer_norm agrees with its composed form, value and derivatives") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 2e-5 : 1e-11;
    for (const Shape& shape : {Shape{2, 3, 5}, Shape{1, 1}, Shape{70, 16}, Shape{33, 19}, Shape{7}}) {
      INFO(shape << " in " << dtype);
      const int64_t n = shape[shape.rank() - 1];
      const Tensor x = away_from_zero(shape, 1, dtype), weight = away_from_zero({n}, 2, dtype),
                   bias = away_from_zero({n}, 3, dtype);
      check_close(layer_norm(x, weight, bias), composed(x, weight, bias), tolerance);
      check_close(layer_norm(x, {}, {}), composed(x, {}, {}), tolerance);
      const auto fused =
          gradients_of([](const auto& in) { return sin(layer_norm(in[0], in[1], in[2])); }, {x, weight, bias});
      const auto plain =
          gradients_of([](const auto& in) { return sin(composed(in[0], in[1], in[2])); }, {x, weight, bias});
      for (std::size_t i = 0; i < 3; ++i) check_close(fused[i], plain[i], 20 * tolerance);
      const auto fused_alone = gradients_of([](const auto& in) { return sin(layer_norm(in[0], {}, {})); }, {x});
      const auto plain_alone = gradients_of([](const auto& in) { return sin(composed(in[0], {}, {})); }, {x});
      check_close(fused_alone[0], plain_alone[0], 20 * tolerance);
    }
  }
}

TEST_CASE("layer_norm adds a residual, value and derivatives") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 2e-5 : 1e-11;
    for (const Shape& shape : {Shape{2, 3, 5}, Shape{70, 16}, Shape{33, 19}, Shape{7}, Shape{0, 3}, Shape{0, 40}}) {
      INFO(shape << " in " << dtype);
      const int64_t n = shape[shape.rank() - 1];
      const std::vector<Tensor> xs{away_from_zero(shape, 1, dtype), away_from_zero({n}, 2, dtype),
                                   away_from_zero({n}, 3, dtype), away_from_zero(shape, 4, dtype)};
      check_close(layer_norm(xs[0], xs[1], xs[2], 0.1, xs[3]), composed(xs[0], xs[1], xs[2], 0.1) + xs[3], tolerance);
      const auto fused =
          gradients_of([](const auto& in) { return sin(layer_norm(in[0], in[1], in[2], 0.1, in[3])); }, xs);
      const auto plain =
          gradients_of([](const auto& in) { return sin(composed(in[0], in[1], in[2], 0.1) + in[3]); }, xs);
      for (std::size_t i = 0; i < xs.size(); ++i) check_close(fused[i], plain[i], 20 * tolerance);

      check_close(layer_norm(xs[0], {}, {}, 0.1, xs[3]), composed(xs[0], {}, {}, 0.1) + xs[3], tolerance);
      const auto fused_alone =
          gradients_of([](const auto& in) { return sin(layer_norm(in[0], {}, {}, 0.1, in[1])); }, {xs[0], xs[3]});
      const auto plain_alone =
          gradients_of([](const auto& in) { return sin(composed(in[0], {}, {}, 0.1) + in[1]); }, {xs[0], xs[3]});
      for (std::size_t i = 0; i < 2; ++i) check_close(fused_alone[i], plain_alone[i], 20 * tolerance);
    }
  }
}

TEST_CASE("layer_norm of x with x itself as the residual") {
  const Tensor x = away_from_zero({5, 6}, 1);
  const auto fused = gradients_of([](const auto& in) { return sin(layer_norm(in[0], {}, {}, 1e-5, in[0])); }, {x});
  const auto plain = gradients_of([](const auto& in) { return sin(composed(in[0], {}, {}) + in[0]); }, {x});
  check_close(fused[0], plain[0], 1e-10);
}

TEST_CASE("layer_norm reads any strides") {
  const Tensor x = away_from_zero({4, 6}, 1), weight = away_from_zero({8}, 2).slice(0, 0, 8, 2),
               bias = scalar(1, DType::f64).expand({4});
  const Tensor columns = x.transpose(0, 1);
  check_close(layer_norm(columns, weight, bias), composed(columns, weight, bias), 1e-12);
  check_close(layer_norm(columns, weight, bias, 1e-5, columns), composed(columns, weight, bias) + columns, 1e-12);
}

TEST_CASE("rows of equal numbers become the bias") {
  const Tensor y = layer_norm(full({2, 3}, 1e6, DType::f32), ones({3}), full({3}, 0.5));
  CHECK(y.to_vector() == Values(6, 0.5));
}

TEST_CASE("rows of equal numbers are exactly zero at every length") {
  for (const double value : {1.0, 3.0, 100.0, 1000.0}) {
    for (int64_t n = 2; n < 130; ++n) {
      CHECK(layer_norm(full({1, n}, value), {}, {}).to_vector() == Values(static_cast<std::size_t>(n), 0));
    }
  }
}

TEST_CASE("rows of equal numbers are exactly zero however large") {
  for (int64_t n : {7, 251, 512, 768, 1000}) {
    for (double c : {10.1, 1000.1, 100000.1, 1e8, -3e30}) {
      CAPTURE(n, c);
      CHECK(layer_norm(full({2, n}, c), Tensor(), Tensor()).to_vector() == zeros({2, n}).to_vector());
    }
  }
}

TEST_CASE("numbers far from zero keep their digits") {
  const Tensor x = f64({1, 4}, {1, 2, 3, 4}) + 1e6;
  Tensor narrow({1, 4}, DType::f32);
  copy(x, narrow);
  check_close(layer_norm(narrow, {}, {}), layer_norm(f64({1, 4}, {1, 2, 3, 4}), {}, {}), 1e-5);
}

TEST_CASE("a row whose squares are infinite has no variance") {
  const Tensor x = tensor({2, 3}, {1e20, 2e20, 3e20, 1, 2, 3});
  const Values y = layer_norm(x, {}, {}).to_vector();
  CHECK(same_values({y[0], y[1], y[2]}, Values(3, not_a_number)));
  check_close({y[3], y[4], y[5]}, composed(f64({3}, {1, 2, 3}), {}, {}).to_vector(), 1e-5);
  for (const CreateGraph create : {CreateGraph::no, CreateGraph::yes}) {
    const Tensor leaf = copy_of(x).set_requires_grad();
    Tape tape;
    const Tensor loss = sum(sin(layer_norm(leaf, {}, {})));
    const Values dx = tape.gradients(loss, {leaf}, create)[0].to_vector();
    CHECK(same_values({dx[0], dx[1], dx[2]}, Values(3, not_a_number)));
    CHECK(std::isfinite(dx[3]));
  }
}

TEST_CASE("layer_norm of nothing") {
  CHECK(layer_norm(zeros({0, 3}), ones({3}), ones({3})).shape() == Shape{0, 3});
  CHECK(layer_norm(zeros({2, 0}), zeros({0}), zeros({0})).shape() == Shape{2, 0});
  const auto dx = gradients_of([](const auto& x) { return layer_norm(x[0], x[1], x[2]); },
                               {zeros({0, 3}, DType::f64), ones({3}, DType::f64), ones({3}, DType::f64)});
  CHECK(dx[0].shape() == Shape{0, 3});
  CHECK(dx[1].to_vector() == Values(3, 0));
  CHECK(dx[2].to_vector() == Values(3, 0));
}

TEST_CASE("layer_norm refuses what does not fit") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH(layer_norm(x, ones({2}), ones({3})),
                    ContainsSubstring("layer_norm") && ContainsSubstring("(2,)") && ContainsSubstring("(2, 3)"));
  CHECK_THROWS_WITH(layer_norm(x, ones({3}), ones({1})), ContainsSubstring("layer_norm") && ContainsSubstring("(1,)"));
  CHECK_THROWS_WITH(layer_norm(x, ones({3}), {}),
                    ContainsSubstring("layer_norm: give both weight and bias, or neither"));
  CHECK_THROWS_WITH(layer_norm(scalar(1), {}, {}), ContainsSubstring("layer_norm: x has no axis"));
  CHECK_THROWS_WITH(layer_norm(x, ones({3}, DType::f64), ones({3})),
                    ContainsSubstring("layer_norm: operands are f32 and f64"));
  CHECK_THROWS_WITH(layer_norm(x, {}, {}, 1e-5, ones({3})),
                    ContainsSubstring("layer_norm: the residual is (3,), x is (2, 3)"));
  CHECK_THROWS_WITH(layer_norm(x, {}, {}, 1e-5, ones({2, 3}, DType::f64)),
                    ContainsSubstring("layer_norm: operands are f32 and f64"));
}
