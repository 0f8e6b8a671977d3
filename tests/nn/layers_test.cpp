#include "nn/layers.h"

#include <algorithm>
#include <cmath>

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

double mean_of(const Values& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Mean of the k-th powers.
double moment(Values values, int k) {
  for (double& value : values) value = std::pow(value, k);
  return mean_of(values);
}

/// Uniform in ±bound, as far as moments and extremes of many values tell.
void check_uniform(const Values& values, double bound) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  CHECK(*low >= -bound);
  CHECK(*high <= bound);
  CHECK(*low < -0.95 * bound);
  CHECK(*high > 0.95 * bound);
  const double standard_error = bound / std::sqrt(3 * static_cast<double>(values.size()));
  CHECK(std::abs(mean_of(values)) < 5 * standard_error);
  CHECK(moment(values, 2) == Approx(bound * bound / 3).epsilon(0.15));
}

}  // namespace

TEST_CASE("linear: shapes, names and PyTorch's initial values") {
  manual_seed(1);
  const Linear layer(64, 100);
  CHECK(names(layer) == std::vector<std::string>{"weight", "bias"});
  CHECK(layer.weight.shape() == Shape{100, 64});
  CHECK(layer.bias.shape() == Shape{100});
  CHECK(layer(normal({2, 3, 64}, 1, DType::f32)).shape() == Shape{2, 3, 100});
  check_uniform(layer.weight.to_vector(), 1.0 / 8);
  check_uniform(layer.bias.to_vector(), 1.0 / 8);

  const Linear without(64, 100, Bias::no);
  CHECK(names(without) == std::vector<std::string>{"weight"});
  CHECK_FALSE(without.bias.defined());
}

TEST_CASE("linear: over another layer's weight, which stays as frozen as it was") {
  const Tensor table = normal({5, 3}, 1, DType::f32);
  const Embedding frozen(table), free(table, Embedding::Frozen::no);
  const Linear over_frozen(frozen.weight), over_free(free.weight);
  CHECK(names(over_frozen) == std::vector<std::string>{"weight"});
  CHECK(over_frozen.weight.same(frozen.weight));
  CHECK_FALSE(frozen.weight.requires_grad());
  CHECK(frozen.parameters().empty());
  CHECK(over_frozen.parameters().empty());
  CHECK(over_free.parameters().size() == 1);
  CHECK(over_free(zeros({2, 3})).shape() == Shape{2, 5});
}

TEST_CASE("linear: gradients") {
  manual_seed(36);
  const Linear layer(3, 2, Bias::yes, DType::f64);
  const Tensor x = normal({4, 3}, 2);
  CHECK(check_parameters(layer, [&] { return layer(x); }).problem == "");
}

TEST_CASE("linear: over a weight that another layer has") {
  manual_seed(42);
  const Embedding table(5, 3, 1, DType::f64);
  const Linear layer(table.weight);
  CHECK(names(layer) == std::vector<std::string>{"weight"});
  CHECK(layer.weight.same(table.weight));
  const Tensor x = normal({2, 3}, 8);
  CHECK(same_bits(layer(x), linear(x, table.weight)));
  {
    Tape tape;
    tape.backward(sum(layer(x) * layer(table(Ids({4, 0})))));
  }
  CHECK(table.weight.grad().same(layer.weight.grad()));
}

TEST_CASE("layers of sizes that cannot be are refused by name") {
  CHECK_THROWS_WITH(Linear(-1, 2), ContainsSubstring("Linear: the shape (2, -1) has a negative size"));
  CHECK_THROWS_WITH(Embedding(-1, 3), ContainsSubstring("Embedding: the shape (-1, 3)"));
  CHECK_THROWS_WITH(LayerNorm(-2), ContainsSubstring("LayerNorm: the shape (-2,)"));
  CHECK_THROWS_WITH(Conv1d(1, -2, 3), ContainsSubstring("Conv1d: the shape (-2, 1, 3)"));
}

TEST_CASE("embedding: shapes, names and a normal start") {
  manual_seed(2);
  const Embedding layer(200, 50);
  CHECK(names(layer) == std::vector<std::string>{"weight"});
  CHECK(layer(Ids({2, 3}, {0, 1, 199, 5, 5, 7})).shape() == Shape{2, 3, 50});
  const Values values = layer.weight.to_vector();
  CHECK(mean_of(values) == Approx(0).margin(0.05));  // 5 standard errors
  CHECK(moment(values, 2) == Approx(1).margin(0.07));
  CHECK(moment(values, 4) == Approx(3).margin(0.5));
}

TEST_CASE("embedding: gradients add up where an id comes twice") {
  manual_seed(37);
  const Embedding layer(4, 2, 1, DType::f64);
  const Ids ids({3}, {1, 3, 1});
  CHECK(check_parameters(layer, [&] { return layer(ids); }).problem == "");
}

TEST_CASE("embedding: from a table, frozen or trained") {
  manual_seed(38);
  const Tensor table = f64({3, 2}, {1, 2, 3, 4, 5, 6});
  const Embedding frozen(table);
  CHECK(frozen(Ids({2})).to_vector() == Values{5, 6});
  CHECK(frozen.parameters().empty());
  CHECK(frozen.state_dict().size() == 1);
  {
    const Tensor factor = ones({1, 2}, DType::f64).set_requires_grad();
    Tape tape;
    tape.backward(sum(frozen(Ids({2})) * factor));
  }
  CHECK_FALSE(frozen.weight.grad().defined());

  const Embedding trained(clone(table), Embedding::Frozen::no);
  CHECK(trained.parameters().size() == 1);
  const Tensor refused = zeros({3});
  for (const auto train : {Embedding::Frozen::yes, Embedding::Frozen::no}) {
    CHECK_THROWS_WITH(Embedding(refused, train), ContainsSubstring("Embedding: the table is"));
  }
  CHECK_FALSE(refused.requires_grad());
  for (const double deviation : {-1.0, not_a_number}) {
    CHECK_THROWS_WITH(Embedding(3, 4, deviation), ContainsSubstring("Embedding: the deviation is "));
    CHECK_THROWS_WITH(LayerNorm(3, deviation), ContainsSubstring("LayerNorm: epsilon is "));
  }
  CHECK_THROWS_WITH(Embedding(3, 4, infinity), ContainsSubstring("the deviation is inf; need a finite number"));
  CHECK_THROWS_WITH(LayerNorm(3, infinity), ContainsSubstring("epsilon is inf; need a"));
  for (const int64_t kernel : {0, -1}) {
    CHECK_THROWS_WITH(Conv1d(2, 3, kernel),
                      ContainsSubstring(text("Conv1d: the kernel is ", kernel, " wide; need at")));
  }
  for (const Conv1dOptions& options : {Conv1dOptions{.stride = 0}, {.padding = -1}, {.dilation = 0}}) {
    CHECK_THROWS_WITH(Conv1d(2, 3, 1, options), ContainsSubstring("Conv1d: stride "));
  }
}

TEST_CASE("layer norm: rows have mean 0 and variance 1 at first") {
  const LayerNorm layer(32, 1e-5, DType::f64);
  CHECK(names(layer) == std::vector<std::string>{"weight", "bias"});
  CHECK(layer.weight.to_vector() == Values(32, 1));
  CHECK(layer.bias.to_vector() == Values(32, 0));
  const Tensor y = layer(normal({5, 32}, 3) * 4.0 + 7.0);
  CHECK(y.shape() == Shape{5, 32});
  for (int64_t row = 0; row < 5; ++row) {
    const Values values = y.select(0, row).to_vector();
    CHECK(mean_of(values) == Approx(0).margin(1e-12));
    CHECK(moment(values, 2) == Approx(1).epsilon(1e-5));
  }
}

TEST_CASE("layer norm: gradients of its weight and bias") {
  const LayerNorm layer(4, 1e-5, DType::f64);
  const Tensor x = normal({3, 4}, 4);
  CHECK(check_parameters(layer, [&] { return layer(x); }).problem == "");
}

TEST_CASE("dropout: a layer drops in training only") {
  manual_seed(3);
  Dropout layer(0.25);
  CHECK(layer.state_dict().empty());
  const Tensor x = ones({1000});
  const Values dropped = layer(x).to_vector();
  const auto zeroed = std::count(dropped.begin(), dropped.end(), 0.0);
  CHECK(std::abs(static_cast<double>(zeroed) - 250) < 70);  // 5 standard deviations
  for (double value : dropped) CHECK((value == 0 || value == Approx(4.0 / 3)));
  layer.eval();
  CHECK(layer(x).same(x));

  CHECK_THROWS_WITH(Dropout(1.5), ContainsSubstring("Dropout: p is 1.5"));
  CHECK_THROWS_AS(Dropout(-0.1), Error);
  CHECK_THROWS_AS(Dropout(not_a_number), Error);
}

TEST_CASE("conv1d: shapes, names and PyTorch's initial values") {
  manual_seed(4);
  const Conv1d layer(16, 50, 4, {.stride = 2, .padding = 1});
  CHECK(names(layer) == std::vector<std::string>{"weight", "bias"});
  CHECK(layer.weight.shape() == Shape{50, 16, 4});
  CHECK(layer(zeros({3, 16, 10})).shape() == Shape{3, 50, 5});
  check_uniform(layer.weight.to_vector(), 1.0 / 8);
  CHECK(names(Conv1d(2, 2, 3, {}, Bias::no)) == std::vector<std::string>{"weight"});
}

TEST_CASE("conv1d: gradients of a layer") {
  manual_seed(39);
  const Conv1d layer(2, 3, 2, {.padding = 1, .dilation = 2}, Bias::yes, DType::f64);
  const Tensor x = normal({2, 2, 5}, 5);
  CHECK(check_parameters(layer, [&] { return layer(x); }).problem == "");
}

TEST_CASE("sequential: layers are named by position, functions too count") {
  manual_seed(40);
  Sequential layers(Linear(3, 4), relu, Linear(4, 2, Bias::no), Dropout(0.5), LayerNorm(2));
  CHECK(names(layers) == std::vector<std::string>{"0.weight", "0.bias", "2.weight", "4.weight", "4.bias"});
  CHECK(layers(zeros({5, 3})).shape() == Shape{5, 2});
  layers.eval();
  const Tensor x = normal({5, 3}, 6, DType::f32);
  CHECK(same_bits(layers(x), layers(x)));
}

TEST_CASE("sequential: computes its steps one after another, gradients included") {
  manual_seed(41);
  const Linear in(3, 4, Bias::yes, DType::f64), out(4, 2, Bias::yes, DType::f64);
  const Sequential layers(in, sigmoid, out);
  const Tensor x = normal({2, 3}, 7);
  CHECK(same_bits(layers(x), out(sigmoid(in(x)))));
  CHECK(check_parameters(layers, [&] { return layers(x); }).problem == "");
}
