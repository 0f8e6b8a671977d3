#pragma once
// Every differentiable operation of autograd/ops.h, with functions and inputs to check its derivative on.
//
// An operation is named as ops.h declares it, without types: "slice(x, axis, start, end, step)". The names are read
// from ops.h itself, so that an operation which is new there and missing here fails the tests.

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "tests/autograd/values.h"

namespace reel::tests {

/// One function to differentiate; its inputs are f64 and away from kinks.
struct Row {
  std::string operation;
  Differentiable f;
  std::vector<Tensor> inputs;
  /// Whether the derivative stays away from kinks and zeros when the inputs repeat along their first axis.
  bool may_repeat = true;
};

/// "slice(x, axis, start, end, step)" of "Tensor slice(const Tensor& x, int axis, ..., int64_t step = 1)"
inline std::string name_of_declaration(const std::string& declaration) {
  const std::size_t open = declaration.find('(');
  const std::size_t space = declaration.rfind(' ', open);
  std::string name = declaration.substr(space + 1, open - space);
  std::string parameter;
  int depth = 0;
  for (char c : declaration.substr(open + 1)) {
    depth += (c == '(' || c == '<' || c == '{') - (c == ')' || c == '>' || c == '}');
    if (depth < 0 || (depth == 0 && c == ',')) {
      std::string without_default = parameter.substr(0, parameter.find('='));
      without_default.erase(without_default.find_last_not_of(' ') + 1);
      const std::size_t start = without_default.find_last_of(" &");
      name += (name.back() == '(' ? "" : ", ") + without_default.substr(start + 1);
      parameter.clear();
    } else {
      parameter += c;
    }
    if (depth < 0) break;
  }
  return name + ")";
}

/// The names of all operations that ops.h declares as differentiable.
inline std::set<std::string> declared_operations() {
  std::ifstream file(REEL_SOURCE_DIR "/autograd/ops.h");
  std::set<std::string> names;
  std::string line, declaration;
  bool inside_struct = false;
  while (std::getline(file, line) && line != "// ---- not differentiable ----") {
    line.erase(std::min(line.find("//"), line.size()));
    if (line.starts_with("struct")) inside_struct = true;
    if (!inside_struct && !line.starts_with("#") && !line.starts_with("namespace")) {
      declaration += line;
      if (const std::size_t end = declaration.find(';'); end != std::string::npos) {
        if (declaration.find('(') < end) names.insert(name_of_declaration(declaration));
        declaration.clear();
      }
    }
    if (line.starts_with("};")) inside_struct = false;
  }
  if (!file) names.clear();  // the line that ends the list is gone: what was read is not the list
  return names;
}

using Xs = std::vector<Tensor>;

inline std::vector<Row> catalogue() {
  const auto any = [](const Shape& shape, std::uint64_t seed = 1) { return away_from_zero(shape, seed); };
  const auto above = [](const Shape& shape, std::uint64_t seed = 1) { return positive(shape, seed); };
  std::vector<Row> rows;
  const auto add_row = [&](const std::string& operation, Differentiable f, Xs inputs, bool may_repeat = true) {
    rows.push_back({operation, std::move(f), std::move(inputs), may_repeat});
  };

  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  const auto binary = [&](const std::string& operation, Binary op, const auto& a, const auto& b) {
    const auto f = [op](const Xs& x) { return op(x[0], x[1]); };
    add_row(operation, f, {a({2, 3}, 1), b({2, 3}, 2)});
    add_row(operation, f, {a({2, 3}, 1), b({3}, 2)});        // either side is repeated,
    add_row(operation, f, {a({1, 3}, 1), b({4, 2, 1}, 2)});  // or both
    add_row(operation, f, {a({}, 1), b({2, 2}, 2)});
    add_row(operation, f, {a({2, 1, 2}, 1), b({}, 2)});
    add_row(operation, f, {a({}, 1), b({}, 2)});
    add_row(operation, f, {a({1, 1}, 1), b({1}, 2)});
  };
  const auto twice = [&](const std::string& operation, Binary op, const Tensor& x) {
    add_row(operation, [op](const Xs& in) { return op(in[0], in[0]); }, {x});
  };
  binary("add(a, b)", add, any, any);
  binary("sub(a, b)", sub, any, any);
  binary("mul(a, b)", mul, any, any);
  binary("div(a, b)", div, any, any);
  binary("pow(a, b)", pow, above, any);
  // Of two single numbers one has no gradient: here both sides win somewhere.
  const auto larger = [](const Xs& x) { return maximum(x[0], x[1]); };
  add_row("maximum(a, b)", larger, {any({2, 3}), any({2, 3}, 2)});
  add_row("maximum(a, b)", larger, {any({4, 3}), any({3}, 2)});
  add_row("maximum(a, b)", larger, {any({1, 3}), any({4, 2, 1}, 2)}, false);
  add_row("maximum(a, b)", larger, {f64({}, {0.1}), any({2, 4}, 2)});
  add_row("maximum(a, b)", [](const Xs& x) { return maximum(x[0], x[0] * x[0]); }, {f64({3}, {0.3, 2, -0.5})});
  twice("add(a, b)", add, any({2, 3}));
  twice("mul(a, b)", mul, any({2, 3}));
  twice("pow(a, b)", pow, above({2, 3}));
  add_row("sub(a, b)", [](const Xs& x) { return x[0] - x[0] * 3.0; }, {any({2, 3})});
  add_row("div(a, b)", [](const Xs& x) { return x[0] / (x[0] * x[0]); }, {any({2, 3})});
  add_row("add(a, b)", [](const Xs& x) { return 2.0 + (1.5 - x[0]) + x[0] * x[0]; }, {any({2, 3})});
  add_row("div(a, b)", [](const Xs& x) { return 2.0 / x[0] - x[0] / 3.0; }, {any({2, 3})});

  for (const double exponent : {1.0, 2.0, 3.0, -1.0, -2.0}) {
    add_row("pow(x, exponent)", [exponent](const Xs& x) { return pow(x[0], exponent); }, {any({2, 3})});
  }
  add_row("pow(x, exponent)", [](const Xs& x) { return pow(x[0], 2.5) + pow(x[0], 0.0); }, {above({2, 3})});

  using Unary = Tensor (*)(const Tensor&);
  const auto unary = [&](const std::string& name, Unary op, const auto& input) {
    const auto f = [op](const Xs& x) { return op(x[0]); };
    add_row(name + "(x)", f, {input({2, 3, 2}, 3)});
    add_row(name + "(x)", f, {input({1, 5}, 4)});
    add_row(name + "(x)", f, {input({}, 5)});
  };
  unary("neg", neg, any);
  unary("exp", exp, any);
  unary("log", log, above);
  unary("sqrt", sqrt, above);
  unary("abs", abs, any);
  unary("sin", sin, any);
  unary("cos", cos, any);
  unary("tanh", tanh, any);
  unary("sigmoid", sigmoid, any);
  unary("erf", erf, any);
  unary("relu", relu,
        [&](const Shape& shape, std::uint64_t seed) { return shape.rank() ? any(shape, seed) : above({}); });
  unary("gelu", gelu, any);
  unary("gelu_tanh", gelu_tanh, any);
  unary("silu", silu, any);

  const Ids choice({2, 3}, {1, 0, 0, 1, 1, 0}), column({2, 1}, {0, 1});
  const auto choose = [](const Ids& ids) { return [ids](const Xs& x) { return where(ids, x[0], x[1]); }; };
  add_row("where(condition, a, b)", choose(choice), {any({2, 3}), any({2, 3}, 2)});
  add_row("where(condition, a, b)", choose(choice), {any({3}), any({2, 1}, 2)});
  add_row("where(condition, a, b)", choose(choice), {any({}), any({4, 1, 1}, 2)});
  add_row("where(condition, a, b)", choose(column), {any({2, 3}), any({3}, 2)});
  add_row("where(condition, a, b)", [choice](const Xs& x) { return where(choice, x[0], x[0] * 2.0); }, {any({2, 3})});
  add_row("masked_fill(x, mask, value)", [=](const Xs& x) { return masked_fill(x[0], choice, -3); }, {any({2, 3})});
  add_row("masked_fill(x, mask, value)", [=](const Xs& x) { return masked_fill(x[0], column, 7); }, {any({2, 2, 3})});
  for (const int64_t diagonal : {-1, 0, 1}) {
    add_row("triu(x, diagonal)", [=](const Xs& x) { return triu(x[0], diagonal); }, {any({2, 3, 4})});
    add_row("tril(x, diagonal)", [=](const Xs& x) { return tril(x[0], diagonal); }, {any({4, 3})});
  }

  add_row("sum(x)", [](const Xs& x) { return sum(x[0]) * 1.0; }, {any({2, 3})});
  add_row("sum(x)", [](const Xs& x) { return sum(x[0]) * 1.0; }, {any({})});
  add_row("mean(x)", [](const Xs& x) { return mean(x[0]); }, {any({2, 3})});
  add_row("mean(x)", [](const Xs& x) { return mean(x[0]); }, {any({})});
  const std::vector<std::vector<int>> axes_of_three = {{0}, {1}, {-1}, {0, 2}, {1, 2}, {2, 0, 1}};
  for (const std::vector<int>& axes : axes_of_three) {
    for (const KeepDim keep : {KeepDim::no, KeepDim::yes}) {
      add_row("sum(x, axes, keep)", [=](const Xs& x) { return sum(x[0], axes, keep); }, {any({2, 3, 4})});
      add_row("mean(x, axes, keep)", [=](const Xs& x) { return mean(x[0], axes, keep); }, {any({2, 3, 2})});
      add_row(
          "var(x, axes, correction, keep)", [=](const Xs& x) { return var(x[0], axes, 1, keep); }, {any({2, 3, 2})},
          axes != std::vector<int>{0});
    }
  }
  add_row("sum(x, axes, keep)", [](const Xs& x) { return sum(x[0], {1}); }, {any({3, 1})});
  add_row("var(x, axes, correction, keep)", [](const Xs& x) { return var(x[0], {1}, 0); }, {any({2, 3})});
  for (const int axis : {0, 1, -1}) {
    add_row(
        "max(x, axis)", [=](const Xs& x) { return max(x[0], axis).values; }, {any({2, 3, 2})}, axis != 0);
  }
  add_row(
      "max(x, axis)", [](const Xs& x) { return max(x[0], 0).values; }, {any({4})}, false);

  const auto product = [](const Xs& x) { return matmul(x[0], x[1]); };
  const std::vector<std::pair<Shape, Shape>> factors = {{{2, 3}, {3, 4}},    {{3}, {3}},
                                                        {{3}, {3, 2}},       {{2, 3}, {3}},
                                                        {{2, 2, 3}, {3, 2}}, {{3}, {2, 3, 2}},
                                                        {{2, 2, 3}, {3}},    {{2, 2, 3}, {2, 3, 1}},
                                                        {{1, 3}, {3, 1}},    {{2, 1, 2, 3}, {2, 3, 2}},
                                                        {{2, 3}, {2, 3, 2}}, {{1, 2, 3}, {2, 3, 2}}};
  for (const auto& [a, b] : factors) add_row("matmul(a, b)", product, {any(a), any(b, 2)});
  twice("matmul(a, b)", matmul, any({3, 3}));
  twice("matmul(a, b)", matmul, any({3}));
  add_row("matmul(a, b)", [](const Xs& x) { return matmul(x[0], x[0].transpose(0, 1)); }, {any({2, 3})});
  const auto affine = [](const Xs& x) { return x.size() == 3 ? linear(x[0], x[1], x[2]) : linear(x[0], x[1]); };
  add_row("linear(x, weight, bias)", affine, {any({2, 3}), any({4, 3}, 2), any({4}, 3)});
  add_row("linear(x, weight, bias)", affine, {any({2, 2, 3}), any({1, 3}, 2)});
  add_row("linear(x, weight, bias)", affine, {any({3}), any({2, 3}, 2), any({2}, 3)});
  add_row("linear(x, weight, bias)", [](const Xs& x) { return linear(x[0], x[0]); }, {any({3, 3})});
  const auto rectified = [](const Xs& x) {  // by way of a bias that leaves something above 0 even of equal numbers
    return x.size() == 3 ? linear_relu(x[0], x[1], x[2] + 2.0) : linear_relu(x[0], x[1]);
  };
  add_row("linear_relu(x, weight, bias)", rectified, {any({2, 3}), any({9, 3}, 5), any({9}, 3)});
  add_row("linear_relu(x, weight, bias)", rectified, {any({2, 2, 3}), any({9, 3}, 5)});
  add_row("linear_relu(x, weight, bias)", rectified, {any({3}), any({9, 3}, 5), any({9}, 3)});
  for (const Conv1dOptions& options :
       {Conv1dOptions{}, Conv1dOptions{2, 1, 1}, Conv1dOptions{1, 2, 2}, Conv1dOptions{3, 1, 2}}) {
    const auto f = [=](const Xs& x) { return conv1d(x[0], x[1], x.size() == 3 ? x[2] : Tensor(), options); };
    add_row("conv1d(x, weight, bias, options)", f, {any({2, 2, 6}), any({3, 2, 3}, 2), any({3}, 3)});
    add_row("conv1d(x, weight, bias, options)", f, {any({1, 1, 4}), any({1, 1, 1}, 2)});
  }

  add_row("view(x, shape)", [](const Xs& x) { return view(x[0] * 1.0, {3, 2}); }, {any({2, 3})});
  add_row("view(x, shape)", [](const Xs& x) { return view(x[0], {1, 1}); }, {any({})});
  add_row("reshape(x, shape)", [](const Xs& x) { return reshape(x[0], {-1, 3}); }, {any({2, 3, 2})});
  add_row("reshape(x, shape)", [](const Xs& x) { return reshape(x[0].transpose(0, 1), {-1}); }, {any({2, 3})});
  add_row("permute(x, axes)", [](const Xs& x) { return permute(x[0], {2, 0, -2}); }, {any({2, 3, 4})});
  add_row("permute(x, axes)", [](const Xs& x) { return permute(x[0], {}); }, {any({})});
  add_row("transpose(x, axis, other)", [](const Xs& x) { return transpose(x[0], 0, -1); }, {any({2, 3, 4})});
  add_row("slice(x, axis, start, end, step)", [](const Xs& x) { return slice(x[0], 1, 1, -1); }, {any({2, 4})});
  add_row("slice(x, axis, start, end, step)", [](const Xs& x) { return slice(x[0], 1, 0, 4); }, {any({2, 4})});  // all
  add_row(
      "slice(x, axis, start, end, step)", [](const Xs& x) { return slice(x[0], -2, 1, 9, 2); }, {any({5, 2})}, false);
  add_row("slice(x, axis, start, end, step)", [](const Xs& x) { return slice(x[0], 0, 0, 3) * slice(x[0], 0, 1, 4); },
          {any({4, 2})});
  add_row("select(x, axis, index)", [](const Xs& x) { return select(x[0], 1, -1); }, {any({2, 3})});
  add_row("select(x, axis, index)", [](const Xs& x) { return select(x[0], 0, 1); }, {any({3})});
  add_row("expand(x, shape)", [](const Xs& x) { return expand(x[0], {4, -1, 3}); }, {any({2, 1})});
  add_row("expand(x, shape)", [](const Xs& x) { return expand(x[0], {2, 2}); }, {any({})});
  add_row("squeeze(x, axis)", [](const Xs& x) { return squeeze(squeeze(x[0], 1), 0); }, {any({2, 1, 3})});
  add_row("unsqueeze(x, axis)", [](const Xs& x) { return unsqueeze(unsqueeze(x[0], 0), -1); }, {any({2, 3})});
  add_row("unsqueeze(x, axis)", [](const Xs& x) { return unsqueeze(x[0], 0); }, {any({})});
  add_row("clone(x)", [](const Xs& x) { return clone(x[0]) * x[0]; }, {any({2, 3})});
  add_row("clone(x)", [](const Xs& x) { return clone(x[0].transpose(0, 1)); }, {any({2, 3})});
  add_row("contiguous(x)", [](const Xs& x) { return contiguous(x[0].transpose(0, 1)); }, {any({2, 3})});
  add_row("contiguous(x)", [](const Xs& x) { return contiguous(expand(x[0], {3, 2})); }, {any({2})});

  add_row("cat(parts, axis)", [](const Xs& x) { return cat(x, 1); }, {any({2, 3}), any({2, 1}, 2), any({2, 2}, 3)});
  add_row("cat(parts, axis)", [](const Xs& x) { return cat({x[0], x[1], x[0]}, -2); }, {any({2, 3}), any({1, 3}, 2)});
  add_row("stack(parts, axis)", [](const Xs& x) { return stack(x, 1); }, {any({2, 3}), any({2, 3}, 2)});
  add_row("stack(parts, axis)", [](const Xs& x) { return stack({x[0], x[0], x[1]}, -1); }, {any({}), any({}, 2)});
  const auto pieces = [](const Xs& x) {
    const Xs parts = split(x[0], 2, 1);  // of length 2, 2 and 1
    return parts[0] * parts[1] + parts[2];
  };
  add_row("split(x, length, axis)", pieces, {any({2, 5})});
  add_row("slice_scatter(y, shape, axis, start, step)",
          [](const Xs& x) {
            return slice_scatter(x[0], {2, 7}, 1, 1, 2);
          },
          {any({2, 3})});
  add_row("slice_scatter(y, shape, axis, start, step)",
          [](const Xs& x) {
            return slice_scatter(x[0], {4, 2}, -2, 2);
          },
          {any({2, 2})});
  const Ids index({2, 2}, {2, 0, 1, 2});
  add_row("gather(x, axis, index)", [=](const Xs& x) { return gather(x[0], 1, index); }, {any({2, 3})});
  add_row("gather(x, axis, index)", [=](const Xs& x) { return gather(x[0], 0, index); }, {any({3, 2})});
  add_row("gather(x, axis, index)",
          [=](const Xs& x) {
            return gather(x[0], -2, index.view({2, 2, 1}));
          },
          {any({2, 4, 1})});
  add_row("scatter_add(y, axis, index, size)", [=](const Xs& x) { return scatter_add(x[0], 1, index, 3); },
          {any({2, 2})});
  add_row("scatter_add(y, axis, index, size)",
          [](const Xs& x) {
            return scatter_add(x[0], 0, Ids({1, 0, 1}), 2);
          },
          {any({3})});
  add_row("embedding(table, ids)", [=](const Xs& x) { return embedding(x[0], index); }, {any({4, 3})});
  add_row("embedding(table, ids)", [](const Xs& x) { return embedding(x[0], Ids(Shape{}, {2})); }, {any({3, 2})});
  add_row("embedding_sum(y, ids, rows)", [=](const Xs& x) { return embedding_sum(x[0], index, 4); }, {any({2, 2, 3})});

  for (const int axis : {0, 1, -1}) {
    add_row(
        "softmax(x, axis)", [=](const Xs& x) { return softmax(x[0], axis); }, {any({2, 3, 4})}, axis != 0);
    add_row(
        "log_softmax(x, axis)", [=](const Xs& x) { return log_softmax(x[0], axis); }, {any({2, 3, 4})}, axis != 0);
  }
  const Ids targets({2, 2}, {2, -100, 0, 1});
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    add_row("nll_loss(log_probs, targets, options)",
            [=](const Xs& x) { return nll_loss(x[0], targets, {.label_smoothing = smoothing}); }, {any({2, 2, 3})});
    add_row("cross_entropy(logits, targets, options)",
            [=](const Xs& x) { return cross_entropy(x[0], targets, {.label_smoothing = smoothing}); },
            {any({2, 2, 3})});
  }
  add_row("nll_loss(log_probs, targets, options)", [](const Xs& x) { return nll_loss(x[0], Ids(Shape{}, {1})); },
          {any({3})});
  add_row("cross_entropy(logits, targets, options)",
          [](const Xs& x) {
            return cross_entropy(x[0], Ids({1, 0}), {.ignore_index = 0});
          },
          {any({2, 3})});

  const auto attend = [](const Xs& x) {
    const Ids hidden({2, 3}, {0, 1, 0, 0, 0, 1});
    return attention(x[0], x[1], x[2], Mask::causal(), 0.7) + attention(x[0], x[1], x[2], Mask::padding(hidden), 1);
  };
  const std::string attention_name = "attention(q, k, v, mask, scale, drop, generator)";
  add_row(attention_name, attend, {any({2, 3, 4}), any({2, 3, 4}, 2), any({2, 3, 2}, 3)});
  add_row(attention_name, attend, {any({2, 2, 5, 4}), any({2, 3, 4}, 2), any({3, 3}, 3)}, false);
  const auto attend_with_drop = [](const Xs& x) {
    Generator generator(8);
    return attention(x[0], x[1], x[2], Mask::none(), 0.7, 0.4, generator);
  };
  add_row(attention_name, attend_with_drop, {any({2, 5, 4}), any({2, 3, 4}, 2), any({2, 3, 2}, 3)});
  const auto attend_packed = [](const Xs& x) {
    Generator generator(9);
    return packed_attention(x[0], x[1], x[2], Ids({0, 2, 5}), Ids({0, 3, 4}), Mask::none(), 0.7) +
           packed_attention(x[0], x[1], x[2], Ids({0, 3, 5}), Ids({0, 1, 4}), Mask::causal(), 1, 0.3, generator);
  };
  add_row("packed_attention(q, k, v, q_starts, k_starts, mask, scale, drop, generator)", attend_packed,
          {any({2, 5, 4}), any({2, 4, 4}, 2), any({2, 4, 3}, 3)});

  const auto norm = [](const Xs& x) {
    if (x.size() < 3) return layer_norm(x[0], Tensor(), Tensor(), 0.1, x.size() == 2 ? x[1] : Tensor());
    return layer_norm(x[0], x[1], x[2], 1e-5, x.size() == 4 ? x[3] : Tensor());
  };
  add_row("layer_norm(x, weight, bias, epsilon, residual)", norm, {any({2, 3, 4}), any({4}, 2), any({4}, 3)});
  add_row("layer_norm(x, weight, bias, epsilon, residual)", norm, {any({5, 3})});
  add_row("layer_norm(x, weight, bias, epsilon, residual)", norm, {any({5, 3}), any({5, 3}, 2)});
  add_row("layer_norm(x, weight, bias, epsilon, residual)", norm,
          {any({2, 4}), any({4}, 2), any({4}, 3), any({2, 4}, 4)});
  add_row("layer_norm(x, weight, bias, epsilon, residual)", norm, {any({3}), any({3}, 2), any({3}, 3)}, false);
  add_row(
      "layer_norm(x, weight, bias, epsilon, residual)", [](const Xs& x) { return layer_norm(x[0], x[0], x[0]); },
      {any({4})}, false);
  const auto drop = [](const Xs& x) {
    Generator generator(7);
    return dropout(x[0], 0.3, generator);
  };
  add_row("dropout(x, p, generator)", drop, {any({3, 4})});
  add_row("dropout(x, p, generator)", [](const Xs& x) { return dropout(x[0], 0) + dropout(x[0], 1); }, {any({2, 3})});
  return rows;
}

}  // namespace reel::tests
