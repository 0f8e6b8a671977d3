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

/// x with other strides: its numbers lie apart, or in another order.
Tensor scattered(const Tensor& x, std::int64_t way) {
  const int rank = x.rank();
  if (rank == 0 || way == 0) return x;
  const int axis = static_cast<int>(way) % rank;
  if (way % 2 == 0) {  // every second one of an axis
    Shape shape = x.shape();
    shape[axis] = 2 * shape[axis];
    const Tensor place = zeros(shape, x.dtype()).slice(axis, 0, shape[axis], 2);
    copy(x, place);
    return place;
  }
  const Tensor place = transpose(zeros(transpose(x, 0, axis).shape(), x.dtype()), 0, axis);  // columns before rows
  copy(x, place);
  return place;
}

/// One operation on tensors that are there already. All are smooth, so that differences tell their derivatives. Throws
/// an Error where the shapes do not fit.
Tensor any_result(Numbers& numbers, const std::vector<Tensor>& values) {
  auto any = [&]() -> const Tensor& {
    return values[values.size() - 1 - static_cast<std::size_t>(numbers.below(std::ssize(values)))];
  };
  auto axis_of = [&](const Tensor& x) { return static_cast<int>(numbers.below(2 * x.rank() + 1)) - x.rank(); };
  const std::int64_t operation = numbers.below(40);
  const Tensor& x = any();
  switch (operation) {
    case 0:
      return x + any();
    case 1:
      return x * any();
    case 2:
      return x - any();
    case 3:
      return x / (any() * 0.1 + 2.0);
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
      return pow(x * x + 0.5, tanh(any()));
    case 14:
      return matmul(x, any());
    case 15:
      return linear(x, any());
    case 16:
      return linear(x, any(), any());
    case 17:
      return sum(x, {axis_of(x)}, KeepDim::yes);
    case 18:
      return mean(x, {axis_of(x)});
    case 19:
      return var(x, {axis_of(x)}, 0);
    case 20:
      return softmax(x, axis_of(x));
    case 21:
      return log_softmax(x, axis_of(x));
    case 22:
      return layer_norm(x, Tensor(), Tensor(), 0.1);
    case 23:
      return layer_norm(x, any(), any(), 0.1, any());
    case 24:
      return transpose(x, axis_of(x), axis_of(x));
    case 25: {
      const int axis = axis_of(x);
      const std::int64_t start = numbers.below(6) - 3, end = numbers.below(8) - 2, step = 1 + numbers.below(3);
      return slice(x, axis, start, end, step);
    }
    case 26:
      return select(x, axis_of(x), numbers.below(6) - 3);
    case 27:
      return unsqueeze(x, axis_of(x));
    case 28:
      return squeeze(x, axis_of(x));
    case 29:
      return expand(x, any().shape());
    case 30:
      return reshape(x, {-1, 1 + numbers.below(4)});
    case 31:
      return cat({x, any(), x}, axis_of(x));
    case 32:
      return stack({x, any()}, axis_of(x));
    case 33:
      return embedding(x, any_ids(numbers, any_shape(numbers, numbers.below(3)), 3));
    case 34:
      return triu(x, numbers.below(5) - 2);
    case 35: {
      const int axis = normal_axis("gather", axis_of(x), x.rank());
      Shape shape = x.shape();
      shape.erase(axis);
      return gather(x, axis, any_ids(numbers, shape, 3));
    }
    case 36: {
      const Mask mask = numbers.below(2) == 0 ? Mask::none() : Mask::causal();
      return attention(x, any(), any(), mask, 0.7);
    }
    case 37:
      return conv1d(x, any(), Tensor(), {1 + numbers.below(2), numbers.below(3), 1 + numbers.below(2)});
    case 38:
      return cross_entropy(x, any_ids(numbers, leading(x.shape(), 1), 3), {.label_smoothing = 0.1});
    default:
      return where(any_ids(numbers, x.shape(), 2), x, any());
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
  for (const Tensor& input : program.inputs) inputs.push_back(clone(input).requires_grad());
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

void check_strides(std::string_view input) {
  Numbers numbers(input);
  const std::int64_t way = numbers.below(8);
  const Program program(input);
  const double expected = program(program.inputs).item();
  std::vector<Tensor> others;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    others.push_back(scattered(program.inputs[i], way + static_cast<std::int64_t>(i)));
  }
  const double found = program(others).item();
  require(found == expected || std::abs(found - expected) <= 1e-9 * (1 + std::abs(expected)) ||
              (std::isnan(found) && std::isnan(expected)),
          text("with other strides the result is ", found, " instead of ", expected));
}

}  // namespace

std::vector<Target> program_targets() {
  // The number of inputs and their shapes; then an operation after another, with what it asks for.
  std::vector<std::string> seeds{
      {"\0\2\0\1\4\0\20\0\0\1\0", 11},                      // one (2, 3): tanh, mean along an axis
      {"\1\2\0\1\2\1\0\16\1\0\24\0\1\1\0\0", 16},           // (2, 3) (3, 2): a product, softmax, a product with itself
      {"\2\2\0\1\2\0\1\1\1\27\0\0\0\0\31\0\1\3\2\0", 20},   // layer norm, a slice
      {"\0\3\0\1\0\44\0\1\0\0\45\0\0\1\1\1\37\0\0\1", 20},  // attention, a convolution, joined
  };
  Generator generator(1);
  for (int i = 0; i < 12; ++i) {  // and any others
    std::string& bytes = seeds.emplace_back(48, '\0');
    for (char& byte : bytes) byte = static_cast<char>(generator.below(256));
  }
  return {{"gradients", check_gradients, seeds}, {"strides", check_strides, seeds}};
}

}  // namespace reel::fuzz
