// Programs of tensor operations: which ones, of what shapes and in which order, the input says. What a single test of
// an operation does not see is how it gets on with others: with the strides that views leave it, with a result that is
// used twice, with an axis of size 0 or 1.

#include <algorithm>
#include <cmath>

#include "autograd/creation.h"
#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "tests/fuzz/target.h"

namespace reel::fuzz {
namespace {

/// Of so many axes, each of 0 to 4 elements, but most often 2 or 3.
Shape any_shape(Numbers& numbers, std::int64_t rank) {
  static constexpr std::int64_t sizes[] = {2, 3, 1, 2, 3, 4, 0, 2};
  Shape shape;
  for (; rank > 0; --rank) shape.append(sizes[numbers.below(std::ssize(sizes))]);
  return shape;
}

/// From 0.3 to 1.3, in f64: far from where logarithms and quotients grow fast.
Tensor any_input(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return uniform(shape, 0.3, 1.3, DType::f64, generator);
}

Ids any_ids(Numbers& numbers, const Shape& shape, std::int64_t bound) {
  Ids ids = Ids::zeros(shape);
  for (std::int32_t& id : ids.values()) id = static_cast<std::int32_t>(numbers.below(bound));
  return ids;
}

/// x with other strides: with gaps along an axis, or with two axes the other way round in memory.
Tensor scattered(const Tensor& x, bool gaps) {
  if (x.rank() == 0) return x;
  const int last = x.rank() - 1;
  Shape shape = x.shape();
  Tensor place;
  if (gaps || last == 0) {
    shape[last] *= 2;
    place = zeros(shape, x.dtype()).slice(last, 0, shape[last], 2);
  } else {
    std::swap(shape[0], shape[last]);
    place = transpose(zeros(shape, x.dtype()), 0, last);
  }
  copy(x, place);
  return place;
}

/// One operation on tensors that are there already: its number, four tensors, two axes and three numbers, of which it
/// uses what it needs. All are smooth, so that differences tell their derivatives. Throws an Error where the shapes do
/// not fit.
Tensor any_result(Numbers& numbers, const std::vector<Tensor>& values) {
  auto any = [&]() -> const Tensor& {
    return values[values.size() - 1 - static_cast<std::size_t>(numbers.below(std::ssize(values)))];
  };
  const std::int64_t operation = numbers.below(40);
  const Tensor &x = any(), &y = any(), &z = any(), &w = any();
  auto any_axis = [&] { return static_cast<int>(numbers.below(2 * x.rank() + 1)) - x.rank(); };
  const int axis = any_axis(), other = any_axis();
  const std::int64_t a = numbers.below(8), b = numbers.below(8), c = numbers.below(8);
  switch (operation) {
    case 0:
      return x + y;
    case 1:
      return x * y;
    case 2:
      return x - y;
    case 3:
      return x / (y * 0.1 + 2.0);
    case 4:
      return tanh(x);
    case 5:
      return sigmoid(x);
    case 6:
      return gelu(x);
    case 7:
      return silu(x);
    case 8:
      return exp(tanh(x));
    case 9:
      return log(x * x + 1.0);
    case 10:
      return sqrt(x * x + 1.0);
    case 11:
      return sin(x) + cos(x);
    case 12:
      return erf(x);
    case 13:
      return pow(x * x + 0.5, tanh(y));
    case 14:
      return matmul(x, y);
    case 15:
      return linear(x, y);
    case 16:
      return linear(x, y, z);
    case 17:
      return sum(x, {axis}, KeepDim::yes);
    case 18:
      return mean(x, {axis});
    case 19:
      return var(x, {axis}, 0);
    case 20:
      return softmax(x, axis);
    case 21:
      return log_softmax(x, axis);
    case 22:
      return layer_norm(x, Tensor(), Tensor(), 0.1);
    case 23:
      return layer_norm(x, y, z, 0.1, w);
    case 24:
      return transpose(x, axis, other);
    case 25:
      return slice(x, axis, a - 3, b - 2, 1 + c % 3);
    case 26:
      return select(x, axis, a - 3);
    case 27:
      return unsqueeze(x, axis);
    case 28:
      return squeeze(x, axis);
    case 29:
      return expand(x, y.shape());
    case 30:
      return reshape(x, {-1, 1 + a % 4});
    case 31:
      return cat({x, y, x}, axis);
    case 32:
      return stack({x, y}, axis);
    case 33:
      return embedding(x, any_ids(numbers, any_shape(numbers, a % 3), 3));
    case 34:
      return triu(x, a - 3);
    case 35: {
      Shape shape = x.shape();
      shape[normal_axis("gather", axis, x.rank())] = b;
      return gather(x, axis, any_ids(numbers, shape, 3));
    }
    case 36:
      return attention(x, y, z, a % 2 == 0 ? Mask::none() : Mask::causal(), 0.7);
    case 37:
      return conv1d(x, y, Tensor(), {1 + a % 2, b % 3, 1 + c % 2});
    case 38:
      return cross_entropy(x, any_ids(numbers, leading(x.shape(), 1), 3), {.label_smoothing = 0.1});
    default:
      return where(any_ids(numbers, x.shape(), 2), x, y);
  }
}

/// A function of some inputs, as the bytes say: up to eight operations that fit. What is not used otherwise is added
/// up.
struct Program {
  std::string bytes;
  std::vector<Tensor> inputs;

  explicit Program(std::string_view input) {
    Numbers numbers(input);
    const std::int64_t count = 1 + numbers.below(3);
    for (std::int64_t i = 0; i < count; ++i) {
      inputs.push_back(any_input(any_shape(numbers, numbers.below(4)), static_cast<std::uint64_t>(i) + 1));
    }
    bytes = numbers.rest();
  }

  Tensor operator()(const std::vector<Tensor>& some_inputs) const {
    std::vector<Tensor> values = some_inputs;
    Numbers numbers(bytes);
    for (int left = 8; left > 0 && !numbers.at_end();) {
      try {
        values.push_back(any_result(numbers, values));
        --left;
      } catch (const Error&) {  // the shapes do not fit: another operation may
      }
    }
    Tensor total = scalar(0, values[0].dtype());
    double weight = 1;  // another one for each, so that x - x does not lose x
    for (const Tensor& value : values) total = total + sum(sin(value)) * (weight *= 1.1);
    return total;
  }
};

/// Whether differences can tell the derivative: where numbers are large, it changes too much within a step.
bool is_tame(const Program& program) {
  for (const Tensor& input : program.inputs) {
    if (input.numel() == 0) return false;  // has no gradient that could differ from zero
  }
  Tape tape;
  std::vector<Tensor> inputs;
  for (const Tensor& input : program.inputs) inputs.push_back(clone(input).set_requires_grad());
  const Tensor y = program(inputs);
  if (!std::isfinite(y.item())) return false;  // as a mean of nothing
  for (const Tensor& gradient : tape.gradients(y, inputs)) {
    for (double value : gradient.to_vector()) {
      if (!(std::abs(value) < 1e3)) return false;
    }
  }
  return true;
}

void check_gradients(std::string_view input) {
  const Program program(input);
  if (!is_tame(program)) return;
  const GradcheckOptions options{.relative = 1e-4, .floor = 1e-5};
  const GradcheckResult first = gradcheck(program, program.inputs, options);
  require(first.problem.empty(), "first derivatives: " + first.problem);
  const GradcheckResult second = gradgradcheck(program, program.inputs, {.relative = 1e-3, .floor = 1e-3});
  require(second.problem.empty(), "second derivatives: " + second.problem);
}

/// backward() adds up in place, and writes over what nobody else needs; gradients() does neither.
void check_backward(std::string_view input) {
  const Program program(input);
  std::vector<Tensor> leaves;
  for (const Tensor& x : program.inputs) leaves.push_back(clone(x).set_requires_grad());
  Tape tape;
  const Tensor y = program(leaves);
  const std::vector<Tensor> stated = tape.gradients(y, leaves);
  tape.backward(y);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::vector<double> found = leaves[i].grad().to_vector(), expected = stated[i].to_vector();
    for (std::size_t j = 0; j < found.size(); ++j) {
      require(std::abs(found[j] - expected[j]) <= 1e-9 * (1 + std::abs(expected[j])) ||
                  (!std::isfinite(found[j]) && !std::isfinite(expected[j])),
              text("input ", i, ", element ", j, ": backward() says ", found[j], ", gradients() ", expected[j]));
    }
  }
}

void check_strides(std::string_view input) {
  const Program program(input);
  const double expected = program(program.inputs).item();
  for (const bool gaps : {false, true}) {
    std::vector<Tensor> others;
    for (const Tensor& x : program.inputs) others.push_back(scattered(x, gaps));
    const double found = program(others).item();
    require(
        std::abs(found - expected) <= 1e-9 * (1 + std::abs(expected)) || (std::isnan(found) && std::isnan(expected)),
        text("with other strides the result is ", found, " instead of ", expected));
  }
}

/// A target whose inputs are all right.
Target always(const std::string& name, void (*check)(std::string_view), const std::vector<std::string>& seeds) {
  return {name, [check](std::string_view input) { must([&] { check(input); }); }, seeds};
}

}  // namespace

std::vector<Target> program_targets() {
  // The number of inputs and their shapes; then an operation after another.
  auto bytes = [](std::initializer_list<int> numbers) { return std::string(numbers.begin(), numbers.end()); };
  const std::string one_input = bytes({0, 2, 0, 1}), two_inputs = bytes({1, 2, 0, 1, 2, 1, 0});  // (2, 3), then (3, 2)
  const std::string attention_and_convolution =
      bytes({0, 3, 2, 0, 1}) + bytes({36, 0, 0, 0, 0, 0, 0, 1, 0, 0}) + bytes({37, 0, 1, 0, 0, 0, 0, 0, 1, 0});
  std::vector<std::string> seeds{
      one_input + bytes({4, 0, 0, 0, 0, 0, 0, 0, 0, 0}) + bytes({18, 0, 0, 0, 0, 3, 0, 0, 0, 0}),    // tanh, mean
      two_inputs + bytes({14, 1, 0, 0, 0, 0, 0, 0, 0, 0}) + bytes({20, 0, 0, 0, 0, 1, 0, 0, 0, 0}),  // product, softmax
      one_input + bytes({22, 0, 0, 0, 0, 0, 0, 0, 0, 0}) + bytes({25, 0, 0, 0, 0, 1, 0, 3, 5, 0}),   // norm, slice
      attention_and_convolution,
  };
  Generator generator(1);
  for (int i = 0; i < 12; ++i) {  // and any others
    std::string& some = seeds.emplace_back(80, '\0');
    for (char& byte : some) byte = static_cast<char>(generator.below(256));
  }
  return {always("gradients", check_gradients, seeds), always("backward", check_backward, seeds),
          always("strides", check_strides, seeds)};
}

}  // namespace reel::fuzz
