// What autograd/README.md shows to whoever adds an operation is what works.

#include <algorithm>
#include <sstream>
#include <string>

#include "autograd/gradcheck.h"
#include "autograd/ops/elementwise.h"
#include "data/file.h"
#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

/// y = x / (1 + x²)          dx = dy (1 - x²) / (1 + x²)²
Tensor witch(const Tensor& x) {
  auto value = [](const auto& v) { return v / (1.0 + v * v); };
  auto slope = [](const auto& v) { return (1.0 - v * v) / ((1.0 + v * v) * (1.0 + v * v)); };
  return record("witch", {x}, map("witch", on_vectors(value), x),
                [slope, x](Tensor dy, Grads& grads) { grads.add(0, chain(grads, std::move(dy), slope, x)); });
}

/// The text from `begin` to `end`, the latter included.
std::string part_of(const std::string& whole, const std::string& begin, const std::string& end) {
  const std::size_t from = whole.find(begin), to = whole.find(end, from);
  REQUIRE(to != std::string::npos);
  return whole.substr(from, to + end.size() - from);
}

}  // namespace

TEST_CASE("the operation of autograd/README.md has the derivatives that it states") {
  const Tensor x = away_from_zero({2, 3}, 1);
  CHECK(gradcheck([](const auto& in) { return witch(in[0]); }, {x}).problem == "");
  CHECK(gradgradcheck([](const auto& in) { return witch(in[0]); }, {x}).problem == "");
}

TEST_CASE("the operation of autograd/README.md is the one that is tested") {
  const std::string root = REEL_SOURCE_DIR;
  const std::string begin = "/// y = x / (1 + x²)", end = "\n}\n";
  const std::string shown = part_of(data::read_file(root + "/autograd/README.md"), "    " + begin, "\n    }\n");
  std::istringstream lines(shown);
  std::string unindented;
  for (std::string line; std::getline(lines, line);)
    unindented += line.substr(std::min<std::size_t>(4, line.size())) + '\n';
  CHECK(unindented == part_of(data::read_file(root + "/tests/autograd/readme_test.cpp"), begin, end));
}

TEST_CASE("a chain rule may spread a gradient over what was summed") {
  // y = Σ x²          dx = dy 2 x
  auto sum_of_squares = [](const std::vector<Tensor>& in) {
    auto slope = [](const auto& v) { return v * 2.0; };
    const Tensor x = in[0], values = detach(x);
    return record("sum_of_squares", {x}, sum(values * values),
                  [slope, x](Tensor dy, Grads& grads) { grads.add(0, chain(grads, std::move(dy), slope, x)); });
  };
  const Tensor x = away_from_zero({2, 3}, 1);
  CHECK(gradcheck(sum_of_squares, {x}).problem == "");
  CHECK(gradgradcheck(sum_of_squares, {x}).problem == "");
}
