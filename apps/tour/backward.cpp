#include <ostream>
#include <string_view>

#include "apps/common/numbers.h"
#include "apps/tour/page.h"
#include "apps/tour/steps.h"
#include "autograd/creation.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "data/pieces.h"

namespace reel::apps {
namespace {

/// The tape's own list, its columns brought into line.
Lines entries(const Tape& tape) {
  std::vector<Words> rows;
  const std::string list = tape.to_string();
  for (const std::string_view line : data::split_at(list, "\n")) {
    const std::vector<std::string_view> columns = data::split_at(line, "  ");
    if (!line.empty()) rows.emplace_back(columns.begin(), columns.end());
  }
  return align(rows, 4);
}

/// One neuron and its squared error.
Tensor squared_error(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& target) {
  const Tensor error = tanh(matmul(x, w) + b) - target;
  return sum(error * error);
}

}  // namespace

void show_backward(std::ostream& out) {
  out << R"(  To learn, a model must know how its loss changes with each of its numbers. While a tape lives,
  every operation on what needs a gradient appends an entry: what it computed, and out of what. Read
  from its end, the tape hands gradients back by the chain rule: each entry takes that of its result
  and gives those of its inputs. One neuron, three examples of two numbers each:

      loss = Σ (tanh(x w + b) - target)²
)";
  const Tensor x = tensor({3, 2}, {1, 0.5, -1, 2, 0, -1}, DType::f64);
  const Tensor target = tensor({3, 1}, {1, -1, 0}, DType::f64);
  Tensor w = tensor({2, 1}, {0.8, -0.3}, DType::f64), b = tensor({1}, {0.1}, DType::f64);
  w.set_requires_grad();
  b.set_requires_grad();

  Tape tape;
  const Tensor product = matmul(x, w);
  const Tensor sums = product + b;
  const Tensor outputs = tanh(sums);
  const Tensor errors = outputs - target;
  const Tensor squares = errors * errors;
  const Tensor loss = sum(squares);
  print(out, beside({titled("x", table(x, {"1", "2", "3"}, indices(2), 1)),
                     titled("target", table(target, {"1", "2", "3"}, {""}, 0)),
                     align({{"w", list(w, 1)}, {"b", list(b, 1)}, {"loss", fixed(loss.item(), 4)}}, 2)}));
  print(out,
        titled("the tape: each operation, its result's shape, and the entries or leaves it came from", entries(tape)));

  out << R"(
  Backward, from the last entry to the first. d5 is the gradient of entry 5's result. Entry 4 used
  entry 3 twice, so that two gradients add up there; b was used for every example, so that its
  gradient is a sum over them.
)";
  // d[i] belongs to entry i; then come w and b.
  const std::vector<Tensor> d = tape.gradients(loss, {product, sums, outputs, errors, squares, loss, w, b});
  print(out, align({{"start", "d5 = 1", list(d[5])},
                    {"5  sum", "d4 = d5, for each element", list(d[4])},
                    {"4  mul", "d3 = d4 error + d4 error", list(d[3])},
                    {"3  sub", "d2 = d3", list(d[2])},
                    {"2  tanh", "d1 = d2 (1 - tanh²)", list(d[1])},
                    {"1  add", "d0 = d1", list(d[0])},
                    {"", "db = Σ d1", list(d[7])},
                    {"0  matmul", "dw = xᵀ d0", list(d[6])}},
                   3));

  out << "\n  Is it true? Move each parameter a little to both sides, and see how the loss moves, per unit:\n";
  tape.backward(loss);
  // The tape has run: detached, w and b are recorded no more.
  auto loss_now = [&] { return squared_error(x, detach(w), detach(b), target).item(); };
  const double step = 1e-6;
  std::vector<Words> rows{{"", "by the tape", "by moving it"}};
  auto compare = [&](const std::string& name, const Tensor& parameter, int64_t i) {
    double& value = parameter.data<double>()[i];
    const double before = value;
    value = before + step;
    const double above = loss_now();
    value = before - step;
    const double below = loss_now();
    value = before;
    rows.push_back({name, fixed(parameter.grad().data<double>()[i], 6), fixed((above - below) / (2 * step), 6)});
  };
  compare("w[0]", w, 0);
  compare("w[1]", w, 1);
  compare("b[0]", b, 0);
  print(out, align(rows, 1));
}

}  // namespace reel::apps
