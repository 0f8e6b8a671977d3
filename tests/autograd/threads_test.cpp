// Any number of threads gives the same bits, in values and gradients, at sizes that are shared out.

#include "tests/threads.h"
#include "tests/autograd/catalogue.h"

using namespace reel;
using namespace reel::tests;

namespace {

/// Every operation once, in f32, on inputs of many chunks.
std::vector<Row> large_rows() {
  const auto any = [](const Shape& shape, std::uint64_t seed = 1) { return away_from_zero(shape, seed, DType::f32); };
  const auto above = [](const Shape& shape, std::uint64_t seed = 1) { return positive(shape, seed, DType::f32); };
  const Tensor x = any({130, 1030}), y = any({1030}, 2), p = above({130, 1030}, 3);
  const Tensor cube = any({40, 35, 70}, 4);
  std::vector<std::int32_t> numbers;
  for (std::int32_t i = 0; i < 130 * 1030; ++i) numbers.push_back(i * 7919 % 100);
  const Ids ids({130, 1030}, numbers), row_ids(std::vector<std::int32_t>(numbers.begin(), numbers.begin() + 130));

  std::vector<Row> rows;
  const auto add_row = [&](const std::string& name, Differentiable f, Xs inputs) {
    rows.push_back({name, std::move(f), std::move(inputs)});
  };
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  const std::vector<std::pair<const char*, Binary>> binaries = {
      {"add(a, b)", add}, {"sub(a, b)", sub}, {"mul(a, b)", mul}, {"div(a, b)", div}, {"maximum(a, b)", maximum}};
  for (const auto& [name, op] : binaries) {
    add_row(name, [op = op](const Xs& in) { return op(in[0], in[1]); }, {x, y});
  }
  add_row("pow(a, b)", [](const Xs& in) { return pow(in[0], in[1]); }, {p, y});
  add_row("pow(x, exponent)", [](const Xs& in) { return pow(in[0], 1.5); }, {p});
  using Unary = Tensor (*)(const Tensor&);
  const std::vector<std::pair<const char*, Unary>> unaries = {{"neg(x)", neg},
                                                              {"exp(x)", exp},
                                                              {"log(x)", log},
                                                              {"sqrt(x)", sqrt},
                                                              {"abs(x)", abs},
                                                              {"sin(x)", sin},
                                                              {"cos(x)", cos},
                                                              {"tanh(x)", tanh},
                                                              {"sigmoid(x)", sigmoid},
                                                              {"erf(x)", erf},
                                                              {"relu(x)", relu},
                                                              {"gelu(x)", gelu},
                                                              {"gelu_tanh(x)", gelu_tanh},
                                                              {"silu(x)", silu}};
  for (const auto& [name, op] : unaries) add_row(name, [op = op](const Xs& in) { return op(in[0]); }, {p});

  add_row("where(condition, a, b)", [=](const Xs& in) { return where(ids, in[0], in[1]); }, {x, y});
  add_row("masked_fill(x, mask, value)", [=](const Xs& in) { return masked_fill(in[0], ids, 3); }, {x});
  add_row("triu(x, diagonal)", [](const Xs& in) { return triu(in[0]); }, {x});
  add_row("tril(x, diagonal)", [](const Xs& in) { return tril(in[0]); }, {x});

  add_row("sum(x)", [](const Xs& in) { return sum(in[0]); }, {x});
  add_row("mean(x)", [](const Xs& in) { return mean(in[0]); }, {x});
  const auto all_sums = [](const Xs& in) {
    return sum(sum(in[0], {0})) + sum(sum(in[0], {1})) + sum(sum(in[0], {2})) + sum(sum(in[0], {0, 2})) +
           sum(sum(in[0], {0, 1}));
  };
  add_row("sum(x, axes, keep)", all_sums, {cube});
  add_row("mean(x, axes, keep)", [](const Xs& in) { return mean(in[0], {1}); }, {cube});
  add_row("var(x, axes, correction, keep)", [](const Xs& in) { return var(in[0], {0}); }, {cube});
  add_row("max(x, axis)", [](const Xs& in) { return max(in[0], 1).values; }, {cube});

  add_row("matmul(a, b)", [](const Xs& in) { return matmul(in[0], in[1].transpose(1, 2)); },
          {cube, any({40, 33, 70}, 5)});
  add_row("linear(x, weight, bias)", [](const Xs& in) { return linear(in[0], in[1], in[2]); },
          {cube, any({150, 70}, 5), any({150}, 6)});
  add_row("linear_relu(x, weight, bias)", [](const Xs& in) { return linear_relu(in[0], in[1], in[2]); },
          {cube, any({150, 70}, 5), any({150}, 6)});
  add_row("conv1d(x, weight, bias, options)", [](const Xs& in) { return conv1d(in[0], in[1], in[2], {.padding = 1}); },
          {cube, any({50, 35, 3}, 5), any({50}, 6)});

  add_row("view(x, shape)", [](const Xs& in) { return view(in[0], {35, 40, 70}); }, {cube});
  add_row("reshape(x, shape)", [](const Xs& in) { return reshape(in[0].transpose(0, 2), {-1}); }, {cube});
  add_row("permute(x, axes)", [](const Xs& in) { return contiguous(permute(in[0], {2, 0, 1})); }, {cube});
  add_row("transpose(x, axis, other)", [](const Xs& in) { return in[0].transpose(0, 1) * in[0].transpose(0, 1); },
          {cube});
  add_row("slice(x, axis, start, end, step)", [](const Xs& in) { return slice(in[0], 1, 3, 30, 2) * 2.0; }, {cube});
  add_row("select(x, axis, index)", [](const Xs& in) { return select(in[0], 0, 7) * 2.0; }, {cube});
  add_row("expand(x, shape)", [](const Xs& in) { return contiguous(expand(in[0], {200, 1030})); }, {y});
  add_row("squeeze(x, axis)", [](const Xs& in) { return squeeze(in[0].unsqueeze(1), 1) * 2.0; }, {x});
  add_row("unsqueeze(x, axis)", [](const Xs& in) { return unsqueeze(in[0], 0) * 2.0; }, {x});
  add_row("clone(x)", [](const Xs& in) { return clone(in[0].transpose(0, 1)); }, {x});
  add_row("contiguous(x)", [](const Xs& in) { return contiguous(in[0].transpose(0, 1)); }, {x});

  add_row("cat(parts, axis)", [](const Xs& in) { return cat(in, 1); }, {x, p});
  add_row("stack(parts, axis)", [](const Xs& in) { return stack(in, 2); }, {x, p});
  add_row("split(x, length, axis)", [](const Xs& in) { return split(in[0], 400, 1)[1] * 2.0; }, {x});
  add_row("slice_scatter(y, shape, axis, start, step)",
          [](const Xs& in) {
            return slice_scatter(in[0], {130, 3000}, 1, 5, 2);
          },
          {x});
  add_row("gather(x, axis, index)", [=](const Xs& in) { return gather(in[0], 1, row_ids.unsqueeze(1)); }, {x});
  add_row("scatter_add(y, axis, index, size)", [=](const Xs& in) { return scatter_add(in[0], 1, ids, 100); }, {x});
  add_row("embedding(table, ids)", [=](const Xs& in) { return embedding(in[0], ids); }, {any({100, 5}, 5)});
  add_row("embedding_sum(y, ids, rows)", [=](const Xs& in) { return embedding_sum(in[0], row_ids, 100); }, {x});

  add_row("softmax(x, axis)", [](const Xs& in) { return softmax(in[0], 1); }, {cube});
  add_row("log_softmax(x, axis)", [](const Xs& in) { return log_softmax(in[0], -1); }, {cube});
  add_row("nll_loss(log_probs, targets, options)", [=](const Xs& in) { return nll_loss(in[0], row_ids); }, {x});
  add_row("cross_entropy(logits, targets, options)",
          [=](const Xs& in) { return cross_entropy(in[0], row_ids, {.label_smoothing = 0.1}); }, {x});
  const auto attend = [](const Xs& in) {
    Generator generator(8);
    return attention(in[0], in[0], in[0], Mask::causal(), 0.1, 0.2, generator);
  };
  add_row("attention(q, k, v, mask, scale, drop, generator)", attend, {cube});
  add_row("attention(q, k, v, mask, scale, drop, generator)", attend, {any({300, 40})});  // one head for all threads
  const auto attend_packed = [](const Xs& in) {
    Generator generator(9);
    std::vector<std::int32_t> starts;  // texts of 0, 1, 2, ... tokens, and the rest
    for (int64_t at = 0, n = 0; at < in[0].size(-2); at += n++) starts.push_back(static_cast<std::int32_t>(at));
    starts.push_back(static_cast<std::int32_t>(in[0].size(-2)));
    const Ids texts(starts);
    return packed_attention(in[0], in[0], in[0], texts, texts, Mask::causal(), 0.1, 0.2, generator);
  };
  add_row("packed_attention(q, k, v, q_starts, k_starts, mask, scale, drop, generator)", attend_packed, {cube});
  const auto norm = [](const Xs& in) { return layer_norm(in[0], in[1], in[2], 1e-5, in[0]); };
  add_row("layer_norm(x, weight, bias, epsilon, residual)", norm, {cube, any({70}, 5), any({70}, 6)});
  const auto drop = [](const Xs& in) {
    Generator generator(7);
    return dropout(in[0], 0.3, generator);
  };
  add_row("dropout(x, p, generator)", drop, {x});
  return rows;
}

/// The value, then all gradients.
Xs results(const Row& row) {
  Xs leaves;
  for (const Tensor& input : row.inputs) leaves.push_back(clone(input).set_requires_grad());
  Tape tape;
  const Tensor y = row.f(leaves);
  Xs all = tape.gradients(sum(y * sin(y)), leaves);
  all.push_back(y);
  return all;
}

}  // namespace

TEST_CASE("every operation gives the same bits with one, two and three threads") {
  std::set<std::string> tried;
  for (const Row& row : large_rows()) {
    INFO(row.operation);
    tried.insert(row.operation);
    const WithThreads one(1);
    const Xs alone = results(row);
    for (const int count : {2, 3}) {
      const WithThreads with(count);
      const Xs shared = results(row);
      for (std::size_t i = 0; i < alone.size(); ++i) CHECK(same_bits(shared[i], alone[i]));
    }
  }
  for (const std::string& operation : declared_operations()) {
    INFO(operation << " is not tried on several threads: add a row to large_rows()");
    CHECK(tried.contains(operation));
  }
  CHECK(tried.size() == declared_operations().size());
}
