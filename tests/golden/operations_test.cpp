// Every operation of autograd/ops.h against PyTorch: values and gradients. Only dropout is not here, whose random
// numbers are Reel's own.

#include "tests/autograd/catalogue.h"
#include "tests/golden/golden.h"

using namespace reel;
using namespace reel::tests;

namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

/// 1 and 0 as numbers.
Tensor number(const Ids& ids, DType dtype) {
  return tensor(ids.shape(), {ids.values().begin(), ids.values().end()}, dtype);
}

void add_arithmetic(Functions& all) {
  const std::map<std::string, Binary> four = {{"add", add}, {"sub", sub}, {"mul", mul}, {"div", div}};
  for (const auto& [name, f] : four) {
    for (const char* variant : {"", ".broadcast", ".zero_d", ".empty"}) {
      all[name + variant] = [f = f](const Given& in) { return f(in.x[0], in.x[1]); };
    }
    all[name + ".transposed"] = [f = f](const Given& in) { return f(in.x[0].transpose(0, 1), in.x[1]); };
    if (name != "div") all[name + ".itself"] = [f = f](const Given& in) { return f(in.x[0], in.x[0]); };
  }
  all["add.number"] = [](const Given& in) { return in.x[0] + 2.5; };
  all["sub.number"] = [](const Given& in) { return in.x[0] - 2.5; };
  all["mul.number"] = [](const Given& in) { return in.x[0] * 2.5; };
  all["div.number"] = [](const Given& in) { return in.x[0] / 2.5; };
  all["add.from_number"] = [](const Given& in) { return 2.5 + in.x[0]; };
  all["sub.from_number"] = [](const Given& in) { return 2.5 - in.x[0]; };
  all["mul.from_number"] = [](const Given& in) { return 2.5 * in.x[0]; };
  all["div.from_number"] = [](const Given& in) { return 2.5 / in.x[0]; };

  const auto power = [&](const std::string& name, double exponent) {
    all["pow." + name] = [exponent](const Given& in) { return pow(in.x[0], exponent); };
  };
  for (const char* exponent : {"0", "0.5", "1", "2", "3", "2.5", "-0.5", "-2"}) {
    power(std::string("to_") + exponent, std::stod(exponent));
  }
  for (const char* exponent : {"0", "1", "2", "3", "-1", "-2"}) {
    power(std::string("negative_to_") + exponent, std::stod(exponent));
  }
  for (const char* exponent : {"0", "1", "2", "3", "2.5"}) {
    power(std::string("zero_to_") + exponent, std::stod(exponent));
  }
  for (const char* name : {"pow", "pow.broadcast", "pow.negative", "pow.zero"}) {
    all[name] = [](const Given& in) { return pow(in.x[0], in.x[1]); };
  }
  for (const char* name : {"maximum", "maximum.ties", "maximum.broadcast"}) {
    all[name] = [](const Given& in) { return maximum(in.x[0], in.x[1]); };
  }
  all["add_in_place"] = [](const Given& in) {
    Tensor x = copy_of(in.x[0]);
    add_in_place(x, detach(in.x[1]));
    return x;
  };
}

void add_functions_of_one_number(Functions& all) {
  const auto unary = [&](const std::string& name, Unary f, const std::vector<std::string>& variants) {
    for (const std::string& variant : variants) {
      all[name + variant] = [f](const Given& in) { return f(in.x[0]); };
    }
  };
  const std::map<std::string, Unary> kinds = {{"sin", sin},   {"cos", cos}, {"tanh", tanh}, {"sigmoid", sigmoid},
                                              {"erf", erf},   {"abs", abs}, {"relu", relu}, {"gelu", gelu},
                                              {"silu", silu}, {"exp", exp}};
  for (const auto& [name, f] : kinds) {
    unary(name, f, {"", ".far"});
    all[name + ".transposed"] = [f = f](const Given& in) { return f(in.x[0].transpose(0, 1)); };
  }
  unary("exp", exp, {".limits"});
  unary("gelu_tanh", gelu_tanh, {"", ".far"});
  unary("log", log, {"", ".far"});
  unary("sqrt", sqrt, {"", ".far"});
  unary("neg", neg, {""});
}

void add_choices(Functions& all) {
  for (const char* name : {"where", "where.broadcast"}) {
    all[name] = [](const Given& in) { return where(in.ids[0], in.x[0], in.x[1]); };
  }
  all["masked_fill"] = [](const Given& in) { return masked_fill(in.x[0], in.ids[0], -7.5); };
  all["masked_fill.broadcast"] = [](const Given& in) { return masked_fill(in.x[0], in.ids[0], -infinity); };
  for (const char* name : {"where.positive", "where.positive.zero"}) {
    all[name] = [](const Given& in) {
      const Tensor zero = scalar(0, in.x[0].dtype());
      return where(gt(in.x[0], zero), in.x[1], zero);
    };
  }
  all["triu"] = [](const Given& in) { return triu(in.x[0]); };
  all["tril"] = [](const Given& in) { return tril(in.x[0]); };
  for (int64_t diagonal : {-7, -1, 1, 2, 7}) {
    all[text("triu.batch_", diagonal)] = [diagonal](const Given& in) { return triu(in.x[0], diagonal); };
    all[text("tril.batch_", diagonal)] = [diagonal](const Given& in) { return tril(in.x[0], diagonal); };
  }
  all["gt"] = [](const Given& in) { return number(gt(in.x[0], in.x[1]), in.x[0].dtype()); };
  all["eq"] = [](const Given& in) { return number(eq(in.x[0], in.x[1]), in.x[0].dtype()); };
}

void add_reductions(Functions& all) {
  all["sum"] = [](const Given& in) { return sum(in.x[0]); };
  all["sum.first"] = [](const Given& in) { return sum(in.x[0], {0}); };
  all["sum.last"] = [](const Given& in) { return sum(in.x[0], {-1}); };
  all["sum.outer"] = [](const Given& in) { return sum(in.x[0], {0, 2}); };
  all["sum.kept"] = [](const Given& in) { return sum(in.x[0], {1, -1}, KeepDim::yes); };
  all["sum.transposed"] = [](const Given& in) { return sum(in.x[0].transpose(0, 2), {1}); };
  all["sum.empty"] = [](const Given& in) { return sum(in.x[0], {0}); };
  all["mean"] = [](const Given& in) { return mean(in.x[0]); };
  all["mean.first"] = [](const Given& in) { return mean(in.x[0], {0}); };
  all["mean.last"] = [](const Given& in) { return mean(in.x[0], {-1}); };
  all["mean.outer"] = [](const Given& in) { return mean(in.x[0], {0, 2}); };
  all["mean.kept"] = [](const Given& in) { return mean(in.x[0], {1, -1}, KeepDim::yes); };
  all["mean.transposed"] = [](const Given& in) { return mean(in.x[0].transpose(0, 2), {1}); };
  all["var"] = [](const Given& in) { return var(in.x[0], {-1}); };
  all["var.population"] = [](const Given& in) { return var(in.x[0], {0}, 0); };
  all["var.kept"] = [](const Given& in) { return var(in.x[0], {0, 2}, 1, KeepDim::yes); };
  for (int axis : {0, -1}) {
    for (const char* variant : {"", ".ties"}) {
      all[text("max", variant, ".axis_", axis)] = [axis](const Given& in) { return max(in.x[0], axis).values; };
      all[text("argmax", variant, ".axis_", axis)] = [axis](const Given& in) {
        return number(argmax(in.x[0], axis), in.x[0].dtype());
      };
    }
  }
}

void add_products(Functions& all) {
  for (const char* variant : {"", ".one", ".wide", ".batch", ".one_matrix", ".one_matrix_left", ".broadcast",
                              ".vectors", ".vector_left", ".vector_right", ".empty"}) {
    all[text("matmul", variant)] = [](const Given& in) { return matmul(in.x[0], in.x[1]); };
  }
  const auto turned = [](const Tensor& x) { return x.transpose(0, 1); };
  all["matmul.left_transposed"] = [=](const Given& in) { return matmul(turned(in.x[0]), in.x[1]); };
  all["matmul.right_transposed"] = [=](const Given& in) { return matmul(in.x[0], turned(in.x[1])); };
  all["matmul.both_transposed"] = [=](const Given& in) { return matmul(turned(in.x[0]), turned(in.x[1])); };
  all["matmul.itself"] = [](const Given& in) { return matmul(in.x[0], in.x[0]); };
  all["matmul.heads"] = [](const Given& in) { return matmul(in.x[0].transpose(1, 2), in.x[1].permute({0, 2, 3, 1})); };

  for (const char* name : {"linear", "linear.vector", "linear.batch"}) {
    all[name] = [](const Given& in) { return linear(in.x[0], in.x[1], in.x[2]); };
  }
  all["linear_relu"] = [](const Given& in) { return linear_relu(in.x[0], in.x[1], in.x[2]); };
  all["linear_relu.no_bias"] = [](const Given& in) { return linear_relu(in.x[0], in.x[1]); };
  all["linear.no_bias"] = [](const Given& in) { return linear(in.x[0], in.x[1]); };
  all["linear.transposed"] = [=](const Given& in) { return linear(turned(in.x[0]), turned(in.x[1]), in.x[2]); };

  const std::map<std::string, Conv1dOptions> convolutions = {{"conv1d", {}},
                                                             {"conv1d.point", {}},
                                                             {"conv1d.stride", {.stride = 2}},
                                                             {"conv1d.padding", {.padding = 2}},
                                                             {"conv1d.dilation", {.dilation = 3}},
                                                             {"conv1d.all", {.stride = 3, .padding = 4, .dilation = 2}},
                                                             {"conv1d.remainder", {.stride = 4, .padding = 1}}};
  for (const auto& [name, options] : convolutions) {
    all[name] = [options = options](const Given& in) { return conv1d(in.x[0], in.x[1], in.x[2], options); };
  }
  all["conv1d.no_bias"] = [](const Given& in) { return conv1d(in.x[0], in.x[1]); };
}

void add_views(Functions& all) {
  all["view"] = [](const Given& in) { return view(in.x[0], {4, -1}); };
  all["view.of_slice"] = [](const Given& in) { return view(slice(in.x[0], 1, 1, 3), {3, 2, 1, 1}); };
  all["reshape"] = [](const Given& in) { return reshape(in.x[0], {3, 8}); };
  all["reshape.copy"] = [](const Given& in) { return reshape(transpose(in.x[0], 0, 1), {2, -1}); };
  all["permute"] = [](const Given& in) { return permute(in.x[0], {2, 0, 1}); };
  all["transpose"] = [](const Given& in) { return transpose(in.x[0], 0, -1); };
  all["slice"] = [](const Given& in) { return slice(in.x[0], 1, 1, 4); };
  all["slice.step"] = [](const Given& in) { return slice(in.x[0], 0, 1, 9, 3); };
  all["slice.negative"] = [](const Given& in) { return slice(in.x[0], -1, -4, -1); };
  all["slice.overlap"] = [](const Given& in) { return slice(in.x[0], 0, 1, 8) * slice(in.x[0], 0, 0, -1); };
  all["select"] = [](const Given& in) { return select(in.x[0], 1, 2); };
  all["select.negative"] = [](const Given& in) { return select(in.x[0], 0, -1); };
  all["expand"] = [](const Given& in) { return expand(in.x[0], {2, 3, 4}); };
  all["expand.keep"] = [](const Given& in) { return expand(in.x[0], {-1, 5}); };
  all["squeeze"] = [](const Given& in) { return squeeze(in.x[0], 1); };
  all["unsqueeze"] = [](const Given& in) { return unsqueeze(in.x[0], -1); };
  all["clone"] = [](const Given& in) { return clone(transpose(in.x[0], 0, 1)); };
  all["contiguous"] = [](const Given& in) { return contiguous(transpose(in.x[0], 0, 1)); };
}

void add_gathering(Functions& all) {
  all["cat"] = [](const Given& in) { return cat(in.x, 0); };
  all["cat.last"] = [](const Given& in) { return cat(in.x, -1); };
  all["cat.itself"] = [](const Given& in) { return cat({in.x[0], in.x[0]}, 1); };
  all["stack"] = [](const Given& in) { return stack(in.x, 0); };
  all["stack.last"] = [](const Given& in) { return stack(in.x, -1); };
  all["split"] = [](const Given& in) {
    const std::vector<Tensor> parts = split(in.x[0], 2, 1);
    return cat({parts.rbegin(), parts.rend()}, 1);
  };
  all["slice_scatter"] = [](const Given& in) { return slice_scatter(in.x[0], {3, 7}, 1, 2); };
  all["slice_scatter.step"] = [](const Given& in) { return slice_scatter(in.x[0], {8, 2}, 0, 1, 3); };
  for (int axis : {0, 1, 2}) {
    all[text("gather.axis_", axis)] = [axis](const Given& in) { return gather(in.x[0], axis, in.ids[0]); };
    all[text("scatter_add.axis_", axis)] = [axis](const Given& in) { return scatter_add(in.x[0], axis, in.ids[0], 3); };
  }
  for (const char* name : {"embedding", "embedding.batch"}) {
    all[name] = [](const Given& in) { return embedding(in.x[0], in.ids[0]); };
  }
  all["embedding_sum"] = [](const Given& in) { return embedding_sum(in.x[0], in.ids[0], 6); };
}

void add_probabilities(Functions& all) {
  for (const char* variant : {"", ".long", ".single", ".large", ".offset", ".hidden"}) {
    all[text("softmax", variant)] = [](const Given& in) { return softmax(in.x[0], -1); };
    all[text("log_softmax", variant)] = [](const Given& in) { return log_softmax(in.x[0], -1); };
  }
  all["softmax.first"] = [](const Given& in) { return softmax(in.x[0], 0); };
  all["softmax.middle"] = [](const Given& in) { return softmax(in.x[0], 1); };
  all["log_softmax.first"] = [](const Given& in) { return log_softmax(in.x[0], 0); };
  all["log_softmax.middle"] = [](const Given& in) { return log_softmax(in.x[0], 1); };

  const std::map<std::string, LossOptions> of_log_probs = {{"nll_loss", {}},
                                                           {"nll_loss.batch", {}},
                                                           {"nll_loss.ignored", {}},
                                                           {"nll_loss.ignore_2", {.ignore_index = 2}},
                                                           {"nll_loss.smooth", {.label_smoothing = 0.1}}};
  for (const auto& [name, options] : of_log_probs) {
    all[name] = [options = options](const Given& in) { return nll_loss(in.x[0], in.ids[0], options); };
  }
  const std::map<std::string, LossOptions> of_logits = {{"cross_entropy", {}},
                                                        {"cross_entropy.ignored", {}},
                                                        {"cross_entropy.ignore_0", {.ignore_index = 0}},
                                                        {"cross_entropy.smooth", {.label_smoothing = 0.1}},
                                                        {"cross_entropy.smooth_ignored", {.label_smoothing = 0.3}},
                                                        {"cross_entropy.batch", {.label_smoothing = 0.2}}};
  for (const auto& [name, options] : of_logits) {
    all[name] = [options = options](const Given& in) { return cross_entropy(in.x[0], in.ids[0], options); };
  }
}

void add_inner_parts(Functions& all) {
  for (const char* variant : {"", ".batch", ".vector"}) {
    all[text("layer_norm", variant)] = [](const Given& in) { return layer_norm(in.x[0], in.x[1], in.x[2]); };
  }
  for (const char* variant : {".plain", ".constant"}) {
    all[text("layer_norm", variant)] = [](const Given& in) { return layer_norm(in.x[0], {}, {}); };
  }
  all["layer_norm.epsilon"] = [](const Given& in) { return layer_norm(in.x[0], in.x[1], in.x[2], 0.5); };
  all["layer_norm.transposed"] = [](const Given& in) { return layer_norm(in.x[0].transpose(0, 1), in.x[1], in.x[2]); };
}

void add_attention(Functions& all) {
  auto add = [&](const std::string& name, const Mask& mask, double scale) {
    all[name] = [=](const Given& in) { return attention(in.x[0], in.x[1], in.x[2], mask, scale); };
  };
  add("attention", Mask::none(), 0.5);
  add("attention.causal", Mask::causal(), 0.5);
  add("attention.goes_on", Mask::causal(), 0.3);
  add("attention.long", Mask::causal(), 0.1);
  all["attention.padding"] = [](const Given& in) {
    return attention(in.x[0], in.x[1], in.x[2], Mask::padding(in.ids[0]), 1);
  };
  auto add_packed = [&](const std::string& name, const Mask& mask) {
    all[name] = [=](const Given& in) {
      return packed_attention(in.x[0], in.x[1], in.x[2], Ids({0, 2, 2, 9}), Ids({0, 4, 5, 13}), mask, 0.5);
    };
  };
  add_packed("packed_attention", Mask::none());
  add_packed("packed_attention.causal", Mask::causal());
}

Functions operations() {
  Functions all;
  add_arithmetic(all);
  add_functions_of_one_number(all);
  add_choices(all);
  add_reductions(all);
  add_products(all);
  add_views(all);
  add_gathering(all);
  add_probabilities(all);
  add_inner_parts(all);
  add_attention(all);
  return all;
}

}  // namespace

TEST_CASE("golden: operations agree with PyTorch in f64") {
  check_functions("operations.safetensors", operations(), DType::f64, 1e-10);
}

TEST_CASE("golden: operations agree with PyTorch in f32") {
  check_functions("operations.safetensors", operations(), DType::f32, 1e-5);
}

TEST_CASE("golden: no operation is missing") {
  std::set<std::string> compared{"dropout"};
  for (const auto& [name, f] : operations()) compared.insert(name.substr(0, name.find('.')));
  for (const std::string& declaration : declared_operations()) {
    INFO(declaration << " of ops.h has no golden case: add one to operations.py and here");
    CHECK(compared.contains(declaration.substr(0, declaration.find('('))));
  }
}

TEST_CASE("golden: a difference is seen") {
  const double nan = not_a_number;
  const Tensor expected = tensor({3}, {1, nan, 4}, DType::f64);
  CHECK(difference(expected, expected) == 0);
  CHECK(difference(tensor({3}, {2, nan, 4}, DType::f64), expected) == 0.25);
  CHECK(difference(tensor({3}, {1, 0, 4}, DType::f64), expected) == infinity);
  CHECK(difference(tensor({3}, {1, nan, infinity}, DType::f64), expected) == infinity);
  CHECK(difference(tensor({1, 3}, {1, nan, 4}, DType::f64), expected) == infinity);
  CHECK(difference(ones({2}), zeros({2})) == infinity);
}
