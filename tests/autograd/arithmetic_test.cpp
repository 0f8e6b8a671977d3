// Values, limits and refusals of ops/arithmetic.cpp. Where PyTorch has a convention, it is followed.

#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

/// The gradients of pow(a, b) with respect to the base and to the exponent.
std::pair<double, double> power_gradients(double a, double b) {
  const auto dx = gradients_of([](const auto& x) { return pow(x[0], x[1]); }, {f64({}, {a}), f64({}, {b})});
  return {dx[0].item(), dx[1].item()};
}

double power_gradient(double x, double exponent) {
  return gradient_of([=](const Tensor& v) { return pow(v, exponent); }, f64({}, {x}))[0];
}

}  // namespace

TEST_CASE("arithmetic on equal shapes") {
  const Tensor a = f64({2, 2}, {1, 2, 3, 4}), b = f64({2, 2}, {5, 6, 7, 8});
  CHECK((a + b).to_vector() == Values{6, 8, 10, 12});
  CHECK((a - b).to_vector() == Values{-4, -4, -4, -4});
  CHECK((a * b).to_vector() == Values{5, 12, 21, 32});
  CHECK((b / a).to_vector() == Values{5, 3, 7.0 / 3, 2});
  CHECK((-a).to_vector() == Values{-1, -2, -3, -4});
  CHECK(maximum(a, b).to_vector() == b.to_vector());
  CHECK(pow(a, b).to_vector() == Values{1, 64, 2187, 65536});
}

TEST_CASE("arithmetic broadcasts to both sides and reads any strides") {
  const Tensor a = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK((a + f64({3}, {10, 20, 30})).to_vector() == Values{11, 22, 33, 14, 25, 36});
  CHECK((f64({2, 1}, {10, 20}) + a).to_vector() == Values{11, 12, 13, 24, 25, 26});
  CHECK((a.transpose(0, 1) - f64({2}, {1, 4})).to_vector() == Values{0, 0, 1, 1, 2, 2});
  const Tensor table = f64({1, 3}, {1, 2, 3}) * f64({2, 1}, {1, 10});
  CHECK(table.shape() == Shape{2, 3});
  CHECK(table.is_contiguous());
  CHECK(table.to_vector() == Values{1, 2, 3, 10, 20, 30});
  CHECK((scalar(2, DType::f64) * scalar(3, DType::f64)).shape() == Shape{});
}

TEST_CASE("an operand's layout changes no bit of the result") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{1, 40, 3}, Shape{5, 1, 40}, Shape{40, 33, 1}, Shape{3, 17, 35}}) {
      const Tensor other = away_from_zero({shape[0], shape[1], shape[2]}, 2, dtype);
      for (const std::vector<int>& order : {std::vector{0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}}) {
        Shape permuted = shape;
        for (int axis = 0; axis < 3; ++axis) permuted[order[static_cast<std::size_t>(axis)]] = shape[axis];
        const Tensor view = away_from_zero(permuted, 1, dtype).permute(order), dense = clone(view);
        REQUIRE(view.shape() == shape);
        CHECK(same_bits(view * other, dense * other));
        CHECK(same_bits(other - view.slice(1, 0, 1), other - dense.slice(1, 0, 1)));
        CHECK(same_bits(view + view.select(0, 0), dense + dense.select(0, 0)));
        Tensor sum = clone(other), same_sum = clone(other);
        add_in_place(sum, view);
        add_in_place(same_sum, dense);
        CHECK(same_bits(sum, same_sum));
      }
    }
  }
}

TEST_CASE("numbers take the tensor's type") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = tensor({2}, {1, 4}, dtype);
    CHECK((x + 1.0).to_vector() == Values{2, 5});
    CHECK((1.0 - x).to_vector() == Values{0, -3});
    CHECK((x - 1.0).to_vector() == Values{0, 3});
    CHECK((x * 2.0).to_vector() == Values{2, 8});
    CHECK((2.0 * x).to_vector() == Values{2, 8});
    CHECK((x / 2.0).to_vector() == Values{0.5, 2});
    CHECK((2.0 / x).to_vector() == Values{2, 0.5});
    CHECK((1.0 + x).dtype() == dtype);
  }
}

TEST_CASE("arithmetic on nothing gives nothing, and the other side a gradient of zero") {
  const Tensor none = zeros({0, 3}, DType::f64), row = f64({3}, {1, 2, 3});
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  for (const Binary operation : {Binary(add), Binary(sub), Binary(mul), Binary(div), Binary(pow), Binary(maximum)}) {
    CHECK(operation(none, row).shape() == Shape{0, 3});
    CHECK(operation(row, none).shape() == Shape{0, 3});
    CHECK(operation(none, none).shape() == Shape{0, 3});
    const auto dx = gradients_of([=](const auto& x) { return operation(x[0], x[1]); }, {none, row});
    CHECK(dx[0].shape() == Shape{0, 3});
    CHECK(dx[1].to_vector() == Values{0, 0, 0});
  }
  CHECK(pow(none, 2).shape() == Shape{0, 3});
}

TEST_CASE("shapes that do not fit and mixed types are refused") {
  const Tensor a = f64({2, 3}, {1, 2, 3, 4, 5, 6}), b = f64({2}, {1, 2}), narrow = ones({2, 3});
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  const std::vector<std::pair<const char*, Binary>> operations = {{"add", add}, {"sub", sub}, {"mul", mul},
                                                                  {"div", div}, {"pow", pow}, {"maximum", maximum}};
  for (const auto& [name, operation] : operations) {
    CHECK_THROWS_WITH(operation(a, b), ContainsSubstring(text(name, ": shapes (2, 3) and (2,) do not broadcast")));
    CHECK_THROWS_WITH(operation(a, narrow), ContainsSubstring(text(name, ": operands are f64 and f32")));
  }
}

TEST_CASE("powers agree with the C library") {
  const Values bases{0.01, 0.5, 1, 1.7, 30};
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double exponent : {-3.0, -2.0, -1.0, -0.5, 0.0, 0.3, 0.5, 1.0, 2.0, 2.5, 3.0, 4.0}) {
      const Values powers = pow(tensor({5}, bases, dtype), exponent).to_vector();
      for (std::size_t i = 0; i < bases.size(); ++i) {
        INFO(bases[i] << " to " << exponent << " in " << dtype);
        CHECK(powers[i] == Approx(std::pow(bases[i], exponent)).epsilon(dtype == DType::f32 ? 1e-6 : 1e-14));
      }
    }
  }
}

TEST_CASE("a power is finite where its parts would not be") {
  for (const double x : {8e-20, -8e-20}) {
    CHECK(pow(tensor({1}, {x}), -2).item() == Approx(1 / (x * x)));
    CHECK(gradient_of([](const Tensor& v) { return pow(v, -1); }, tensor({1}, {x}))[0] == Approx(-1 / (x * x)));
  }
}

TEST_CASE("a power of zero") {
  CHECK(pow(f64({4}, {0, 0, 0, 0}), f64({4}, {0, 0.5, 2, -1})).to_vector() == Values{1, 0, 0, infinity});
  CHECK(pow(scalar(0), 0).item() == 1);
  CHECK(pow(scalar(0), -1).item() == infinity);

  CHECK(power_gradient(0, 0) == 0);
  CHECK(power_gradient(0, 1) == 1);
  CHECK(power_gradient(0, 2) == 0);
  CHECK(power_gradient(0, 3) == 0);
  CHECK(power_gradient(0, 0.5) == infinity);
  CHECK(power_gradient(0, -1) == -infinity);

  CHECK(power_gradients(0, 0) == std::pair(0.0, 0.0));
  CHECK(power_gradients(0, 1) == std::pair(1.0, 0.0));
  CHECK(power_gradients(0, 2) == std::pair(0.0, 0.0));
  CHECK(power_gradients(0, 0.5) == std::pair(infinity, 0.0));
  CHECK(power_gradients(0, -1) == std::pair(-infinity, -infinity));  // as in PyTorch
  CHECK(std::isnan(power_gradients(0, not_a_number).second));
  CHECK(power_gradients(2, 0).first == 0);
}

TEST_CASE("zero to the power of two may be differentiated twice") {
  const Tensor a = f64({}, {0}).set_requires_grad(), b = f64({}, {2}).set_requires_grad();
  Tape tape;
  const std::vector<Tensor> first = tape.gradients(pow(a, b), {a, b}, CreateGraph::yes);
  const std::vector<Tensor> second = tape.gradients(first[0] + first[1], {a, b});
  CHECK(second[0].item() == 2);
  CHECK(second[1].item() == 0);
}

TEST_CASE("a power of a negative number") {
  const Tensor x = f64({3}, {-2, -2, -2});
  CHECK(pow(x, 3).to_vector() == Values{-8, -8, -8});
  CHECK(pow(x, f64({3}, {2, -1, 3})).to_vector() == Values{4, -0.5, -8});
  CHECK(std::isnan(pow(x, 0.5).to_vector()[0]));
  CHECK(power_gradient(-2, 3) == 12);
  CHECK(power_gradients(-2, 3).first == 12);
  CHECK(std::isnan(power_gradients(-2, 3).second));
}

TEST_CASE("division by zero") {
  CHECK(same_values((f64({3}, {1, -1, 0}) / 0.0).to_vector(), {infinity, -infinity, not_a_number}));
  const auto dx = gradients_of([](const auto& x) { return x[0] / x[1]; }, {f64({}, {1}), f64({}, {0})});
  CHECK(dx[0].item() == infinity);
  CHECK(dx[1].item() == -infinity);
}

TEST_CASE("the gradient of a divisor is grouped as PyTorch groups it") {
  const auto dx = gradients_of([](const auto& x) { return x[0] / x[1] * x[2]; },
                               {tensor({2}, {1e35, 1e-25}), tensor({2}, {1e10, 1e-10}), tensor({2}, {1e15, 1e-25})});
  CHECK(dx[1].to_vector()[0] == Approx(-1e30));
  CHECK(dx[1].to_vector()[1] == Approx(-1e-30));
}

TEST_CASE("maximum shares the gradient of ties and keeps NaN") {
  const Tensor a = f64({3}, {1, 2, 3}), b = f64({3}, {3, 2, 1});
  const auto dx = gradients_of([](const auto& x) { return maximum(x[0], x[1]); }, {a, b});
  CHECK(dx[0].to_vector() == Values{0, 0.5, 1});
  CHECK(dx[1].to_vector() == Values{1, 0.5, 0});
  // As in PyTorch: what comes from a NaN goes to both sides.
  const Tensor undefined_first = f64({2}, {not_a_number, 1}), zero = f64({2}, {0, 0});
  const auto of_nan = gradients_of([](const auto& x) { return maximum(x[0], x[1]); }, {undefined_first, zero});
  CHECK(of_nan[0].to_vector() == Values{1, 1});
  CHECK(of_nan[1].to_vector() == Values{1, 0});

  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor number = full({5}, 1, dtype), undefined = full({5}, not_a_number, dtype);
    CHECK(same_values(maximum(number, undefined).to_vector(), Values(5, not_a_number)));
    CHECK(same_values(maximum(undefined, number).to_vector(), Values(5, not_a_number)));
    CHECK(maximum(number * -infinity, number).to_vector() == Values(5, 1));
  }
}

TEST_CASE("an input used twice gets both gradients") {
  const Tensor x = f64({2}, {3, 5});
  CHECK(gradient_of([](const Tensor& v) { return v + v; }, x) == Values{2, 2});
  CHECK(gradient_of([](const Tensor& v) { return v - v; }, x) == Values{0, 0});
  CHECK(gradient_of([](const Tensor& v) { return v * v; }, x) == Values{6, 10});
  CHECK(gradient_of([](const Tensor& v) { return v / v; }, x) == Values{0, 0});
  CHECK(gradient_of([](const Tensor& v) { return maximum(v, v); }, x) == Values{1, 1});
}

TEST_CASE("add_in_place reads what x held, even through another view of it") {
  Tensor x = f64({2, 2}, {1, 2, 3, 4});
  add_in_place(x, x.transpose(0, 1));
  CHECK(x.to_vector() == Values{2, 5, 5, 8});
  add_in_place(x, x);
  CHECK(x.to_vector() == Values{4, 10, 10, 16});
}

TEST_CASE("add_in_place writes into x and broadcasts y") {
  Tensor x = f64({2, 2}, {1, 2, 3, 4});
  const Tensor same = x;
  add_in_place(x, f64({2}, {10, 20}));
  CHECK(same.to_vector() == Values{11, 22, 13, 24});
  add_in_place(x, x);
  CHECK(same.to_vector() == Values{22, 44, 26, 48});

  Tensor view = x.transpose(0, 1), narrow = ones({2, 2});
  CHECK_THROWS_WITH(add_in_place(view, x), ContainsSubstring("add_in_place") && ContainsSubstring("not contiguous"));
  CHECK_THROWS_WITH(add_in_place(x, ones({3}, DType::f64)), ContainsSubstring("(3,)") && ContainsSubstring("(2, 2)"));
  CHECK_THROWS_WITH(add_in_place(narrow, x), ContainsSubstring("f32 and f64"));
}
