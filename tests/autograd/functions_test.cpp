// Values and limits of ops/functions.cpp.

#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

using Unary = Tensor (*)(const Tensor&);

struct Function {
  const char* name;
  Unary operation;
  double (*reference)(double);
};

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

const std::vector<Function> functions = {
    {"exp", exp, std::exp},
    {"log", log, std::log},
    {"sqrt", sqrt, std::sqrt},
    {"abs", abs, std::abs},
    {"sin", sin, std::sin},
    {"cos", cos, std::cos},
    {"tanh", tanh, std::tanh},
    {"erf", erf, std::erf},
    {"neg", neg, [](double x) { return -x; }},
    {"relu", relu, [](double x) { return x > 0 ? x : 0; }},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }},
    {"gelu", gelu, [](double x) { return x * normal_distribution(x); }},
    {"gelu_tanh", gelu_tanh,
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); }}};

double value_at(Unary f, double x, DType dtype) { return f(scalar(x, dtype)).item(); }
double slope_at(Unary f, double x, DType dtype) { return gradient_of(f, scalar(x, dtype))[0]; }

}  // namespace

TEST_CASE("functions agree with the C library") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-13;
    const Tensor x = tensor({9}, {0.01, 0.3, 0.5, 1, 1.5, 2, 3, 5, 7}, dtype);
    for (const Function& f : functions) {
      for (const Tensor& input : {x, -x}) {
        if (std::isnan(f.reference(input.to_vector()[0]))) continue;  // log and sqrt below 0
        const Values in = input.to_vector(), out = f.operation(input).to_vector();
        for (std::size_t i = 0; i < in.size(); ++i) {
          INFO(f.name << " of " << in[i] << " in " << dtype);
          CHECK(out[i] == Approx(f.reference(in[i])).epsilon(tolerance).margin(tolerance));
        }
      }
    }
  }
}

TEST_CASE("-x of a zero is the other zero") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double zero : (-full({40}, 0, dtype)).to_vector()) CHECK(std::signbit(zero));
    for (const double zero : (-full({40}, -0.0, dtype)).to_vector()) CHECK(!std::signbit(zero));
    CHECK(cos(full({2}, -0.0, dtype)).to_vector() == Values{1, 1});
    CHECK(std::signbit(slope_at(cos, 0, dtype)));  // -sin 0
  }
}

TEST_CASE("functions read any strides and keep the shape") {
  const Tensor x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const Function& f : functions) {
    INFO(f.name);
    CHECK(f.operation(x.transpose(0, 1)).to_vector() == f.operation(x).transpose(0, 1).to_vector());
    CHECK(f.operation(x.expand({2, 2, 3})).select(0, 1).to_vector() == f.operation(x).to_vector());
    CHECK(f.operation(zeros({2, 0, 3})).shape() == Shape{2, 0, 3});
    CHECK(f.operation(ones({})).shape() == Shape{});
  }
}

TEST_CASE("roots, logarithms and absolutes at zero") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    CHECK(value_at(sqrt, 0, dtype) == 0);
    CHECK(slope_at(sqrt, 0, dtype) == infinity);
    CHECK(std::isnan(value_at(sqrt, -1, dtype)));
    CHECK(value_at(log, 0, dtype) == -infinity);
    CHECK(slope_at(log, 0, dtype) == infinity);
    CHECK(std::isnan(value_at(log, -1, dtype)));
    CHECK(slope_at(abs, 0, dtype) == 0);
    CHECK(slope_at(abs, -2, dtype) == -1);
    CHECK(slope_at(relu, 0, dtype) == 0);
    CHECK(slope_at(relu, -1, dtype) == 0);
    CHECK(slope_at(relu, 1e-30, dtype) == 1);
  }
}

TEST_CASE("functions that level off stay finite at large inputs, and so do their derivatives") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double x : {100.0, 1e4, 1e10}) {
      INFO(x << " in " << dtype);
      CHECK(value_at(sigmoid, x, dtype) == 1);
      CHECK(value_at(sigmoid, -x, dtype) == Approx(0).margin(1e-40));
      CHECK(value_at(tanh, x, dtype) == 1);
      CHECK(value_at(tanh, -x, dtype) == -1);
      CHECK(value_at(erf, -x, dtype) == -1);
      for (const Unary levelling : {sigmoid, tanh, erf}) {
        CHECK(slope_at(levelling, x, dtype) == Approx(0).margin(1e-40));
        CHECK(slope_at(levelling, -x, dtype) == Approx(0).margin(1e-40));
      }
      for (const Unary unit : {silu, gelu, gelu_tanh, relu}) {
        CHECK(value_at(unit, x, dtype) == Approx(x));
        CHECK(value_at(unit, -x, dtype) == Approx(0).margin(1e-40));
        CHECK(slope_at(unit, x, dtype) == Approx(1));
        CHECK(slope_at(unit, -x, dtype) == Approx(0).margin(1e-40));
      }
    }
  }
}

TEST_CASE("exp overflows to infinity and underflows to zero") {
  CHECK(value_at(exp, 1e4, DType::f32) == infinity);
  CHECK(value_at(exp, -1e4, DType::f32) == 0);
  CHECK(value_at(exp, -infinity, DType::f32) == 0);
  CHECK(slope_at(exp, -infinity, DType::f64) == 0);
}

TEST_CASE("NaN goes through every function") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Function& f : functions) {
      INFO(f.name << " in " << dtype);
      const Values y = f.operation(full({19}, not_a_number, dtype)).to_vector();
      CHECK(same_values(y, Values(19, not_a_number)));
    }
  }
}

TEST_CASE("NaN goes back through relu, as in PyTorch") {
  const auto f = [](const auto& x) {
    const Tensor y = sum(relu(x[0]));
    return y * y;
  };
  CHECK(same_values(gradients_of(f, {f64({2}, {not_a_number, 1})})[0].to_vector(), Values(2, not_a_number)));
}

TEST_CASE("relu's derivative, once and where it is recorded: nothing at 0 of either sign, all at NaN") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::size_t n = 40;  // vectors and a rest
    Values numbers;
    while (numbers.size() < n) numbers.insert(numbers.end(), {-2, -0.0, 0, 3, not_a_number});
    Values passed;
    while (passed.size() < n) passed.insert(passed.end(), {0, 0, 0, 5, 5});
    const Shape shape{static_cast<int64_t>(n)};
    const Tensor x = tensor(shape, numbers, dtype).set_requires_grad();
    const Tensor cotangent = full(shape, 5, dtype).set_requires_grad();
    for (const CreateGraph create : {CreateGraph::no, CreateGraph::yes}) {
      Tape tape;
      const Tensor y = relu(x);
      const Tensor dx = tape.gradients(sum(y * cotangent), {x}, create)[0];
      CHECK(same_values(dx.to_vector(), passed));
      if (create == CreateGraph::no) continue;
      const std::vector<Tensor> second = tape.gradients(sum(dx * 5.0), {cotangent, x});
      CHECK(same_values(second[0].to_vector(), passed));
      CHECK(same_values(second[1].to_vector(), Values(n, 0)));
    }
  }
}
