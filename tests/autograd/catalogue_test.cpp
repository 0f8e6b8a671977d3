// Every differentiable operation: is its derivative right, and would the check notice if it were not?

#include "tests/autograd/catalogue.h"

using namespace reel;
using namespace reel::tests;

namespace {

/// A way to lay out the inputs in memory: `make` prepares what f gets, `read` turns that into the input again.
struct Layout {
  const char* name;
  Tensor (*make)(const Tensor& x);
  Tensor (*read)(const Tensor& x, const Shape& shape);
};

Tensor doubled_last_axis(const Tensor& x) {
  Shape shape = x.shape();
  shape[x.rank() - 1] *= 2;
  return slice_scatter(x, shape, -1, 0, 2);
}

const Layout contiguous_layout{"contiguous", clone, [](const Tensor& x, const Shape&) { return x; }};
const Layout transposed_layout{"transposed", [](const Tensor& x) { return clone(x.transpose(0, -1)); },
                               [](const Tensor& x, const Shape&) { return x.transpose(0, -1); }};
const Layout sliced_layout{"sliced", doubled_last_axis, [](const Tensor& x, const Shape& shape) {
                             return x.slice(-1, 0, 2 * shape[shape.rank() - 1], 2);
                           }};
const Layout repeated_layout{"repeated", [](const Tensor& x) { return clone(x.slice(0, 0, 1)); },
                             [](const Tensor& x, const Shape& shape) { return x.expand(shape); }};

/// The row with every input that has enough axes laid out another way.
Row laid_out(const Row& row, const Layout& layout, int axes) {
  Row result = row;
  for (Tensor& x : result.inputs) {
    if (x.rank() >= axes) x = layout.make(x);
  }
  result.f = [&layout, axes, f = row.f, inputs = row.inputs](const Xs& made) {
    Xs xs = made;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (xs[i].rank() >= axes) xs[i] = layout.read(xs[i], inputs[i].shape());
    }
    return f(xs);
  };
  return result;
}

/// The identity, with a derivative that `spoil` makes wrong.
Tensor spoiled(const Tensor& x, Tensor (*spoil)(const Tensor& dx)) {
  return record("spoiled", {x}, clone(x), [spoil](const Tensor& dy, Grads& grads) { grads.add(0, spoil(dy)); });
}

Tensor one_element_off(const Tensor& dx) {
  Tensor result = clone(dx);
  result.data<double>()[result.numel() / 2] += 0.01;
  return result;
}

std::string title(const Row& row) { return text(row.operation, " of ", row.inputs[0].shape()); }

}  // namespace

TEST_CASE("names are read from declarations") {
  CHECK(name_of_declaration("Tensor add(const Tensor& a, const Tensor& b);") == "add(a, b)");
  CHECK(name_of_declaration("std::vector<Tensor> f(const std::map<int, int>& x, Y y = {1, 2}, int z=3);") ==
        "f(x, y, z)");
  CHECK(name_of_declaration("Tensor g(const T& x, Generator& generator = standard());") == "g(x, generator)");
}

TEST_CASE("every operation of ops.h is in the catalogue, and nothing else") {
  const std::set<std::string> declared = declared_operations();
  CHECK(declared.size() >= 55);  // fewer means that ops.h was misread
  std::set<std::string> listed;
  for (const Row& row : catalogue()) listed.insert(row.operation);
  for (const std::string& name : declared) {
    INFO(name << " has no gradient check: add a row to tests/autograd/catalogue.h");
    CHECK(listed.contains(name));
  }
  for (const std::string& name : listed) {
    INFO(name << " is not declared in autograd/ops.h");
    CHECK(declared.contains(name));
  }
}

TEST_CASE("first derivatives agree with differences, however the inputs lie in memory") {
  for (const Row& row : catalogue()) {
    const auto check = [](const Row& checked, const char* layout) {
      INFO(title(checked) << ", " << layout);
      CHECK(gradcheck(checked.f, checked.inputs).problem == "");
    };
    check(row, contiguous_layout.name);
    check(laid_out(row, transposed_layout, 2), transposed_layout.name);
    if (row.operation != "view(x, shape)") check(laid_out(row, sliced_layout, 1), sliced_layout.name);
    if (row.may_repeat) check(laid_out(row, repeated_layout, 2), repeated_layout.name);
  }
}

// A fused derivative may be composed anew to be recorded; a check of second derivatives alone would not see it differ.
TEST_CASE("a derivative is the same whether it is recorded or not") {
  for (const Row& row : catalogue()) {
    INFO(title(row));
    Xs leaves;
    for (const Tensor& input : row.inputs) leaves.push_back(clone(input).set_requires_grad());
    Tape tape;
    const Tensor y = row.f(leaves);
    const Tensor loss = sum(y * away_from_zero(y.shape(), 9));
    const Xs plain = tape.gradients(loss, leaves), recorded = tape.gradients(loss, leaves, CreateGraph::yes);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const Values a = plain[i].to_vector(), b = recorded[i].to_vector();
      for (std::size_t j = 0; j < a.size(); ++j) CHECK(a[j] == Approx(b[j]).epsilon(1e-10).margin(1e-10));
    }
  }
}

// Cubed, since what is linear has no second derivative that a check could see: (y³)'' = 6 y y'² + 3 y² y''.
TEST_CASE("second derivatives agree with differences") {
  for (const Row& row : catalogue()) {
    const auto cubed = [f = row.f](const Xs& x) {
      const Tensor y = f(x);
      return y * y * y;
    };
    INFO(title(row));
    CHECK(gradgradcheck(cubed, row.inputs).problem == "");
    const Row transposed = laid_out({row.operation, cubed, row.inputs}, transposed_layout, 2);
    CHECK(gradgradcheck(transposed.f, transposed.inputs).problem == "");
  }
}

TEST_CASE("a wrong derivative of any input of any operation is noticed") {
  using Spoil = Tensor (*)(const Tensor&);
  const std::vector<std::pair<const char*, Spoil>> wrongs = {
      {"too large by a thousandth", [](const Tensor& dx) { return dx * 1.001; }},
      {"zero", [](const Tensor& dx) { return dx * 0.0; }},
      {"of the other sign", [](const Tensor& dx) { return -dx; }},
      {"off in one element", one_element_off}};
  for (const Row& row : catalogue()) {
    for (std::size_t input = 0; input < row.inputs.size(); ++input) {
      for (const auto& [what, spoil] : wrongs) {
        const auto wrong = [f = row.f, input, spoil = spoil](Xs x) {
          x[input] = spoiled(x[input], spoil);
          return f(x);
        };
        INFO(title(row) << ", derivative of input " << input << " " << what);
        const GradcheckResult result = gradcheck(wrong, row.inputs);
        CHECK_FALSE(result);
        CHECK_THAT(result.problem, ContainsSubstring(text("input ", input, " ")));
      }
    }
  }
}
