// Kernels of any size, beside a naive twin.

#include "autograd/kernels/matmul.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/creation.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "nn/attention.h"
#include "tests/fuzz/target.h"
#include "tests/threads.h"

namespace reel::fuzz {
namespace {

using kernels::Band;
using kernels::Matrix;

bool is_close(const Tensor& a, const Tensor& b, double tolerance) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [&](double u, double v) { return std::abs(u - v) <= tolerance * (1 + std::abs(v)); });
}

/// How far apart rows lie: dense, or with a gap.
std::int64_t any_stride(Numbers& numbers, std::int64_t width) {
  static constexpr std::int64_t gaps[] = {0, 1, 16, 1024};
  return width + gaps[numbers.below(std::ssize(gaps))];
}

/// A matrix of random numbers, its rows or its columns dense.
struct AnyMatrix {
  Tensor memory;
  Matrix<float> view;

  AnyMatrix(Numbers& numbers, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    const bool by_columns = numbers.below(2) == 1;
    const std::int64_t count = by_columns ? columns : rows;
    const std::int64_t stride = any_stride(numbers, by_columns ? rows : columns);
    Generator generator(seed);
    memory = uniform({count * stride + 1}, -1, 1, DType::f32, generator);
    view = {memory.data<float>() + numbers.below(2), stride, 1};  // perhaps between two vectors
    if (by_columns) view = view.transposed();
  }
};

/// c = a b, with all that matmul() can do beside.
void check_product(std::string_view input) {
  Numbers numbers(input);
  auto size = [&] { return numbers.below(8) == 7 ? numbers.below(200) : numbers.below(40); };
  const std::int64_t m = size(), n = size(), k = size(), c_stride = any_stride(numbers, n);
  const AnyMatrix a(numbers, m, k, 1), b(numbers, k, n, 2);
  Generator generator(3);
  const Tensor bias = uniform({n + 1}, -1, 1, DType::f32, generator);
  const kernels::Epilogue<float> epilogue{.accumulate = numbers.below(2) == 1,
                                          .bias = numbers.below(2) == 1 ? bias.data<float>() : nullptr,
                                          .relu = numbers.below(2) == 1};
  Band band;
  if (numbers.below(2) == 1) band.begin = numbers.below(60) - 30;
  if (numbers.below(2) == 1) band.end = numbers.below(60) - 30;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      if (p < i + band.begin || p >= i + band.end) *a.view.at(i, p).data = 0;
    }
  }
  const Tensor before = uniform({m * c_stride + 1}, -1, 1, DType::f32, generator), c = clone(before),
               c_on_three = clone(before);
  for (const auto& [threads, result] : {std::pair(1, c), std::pair(3, c_on_three)}) {
    const tests::WithThreads with(threads);
    kernels::matmul<float>(m, n, k, a.view, b.view, result.data<float>(), c_stride, epilogue, band);
  }
  require(c.to_vector() == c_on_three.to_vector(), "three threads give the bits of one");

  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < c_stride; ++j) {
      const float was = before.data<float>()[i * c_stride + j], is = c.data<float>()[i * c_stride + j];
      if (j >= n) {
        require(is == was, text("what lies behind row ", i, " stays as it was"));
        continue;
      }
      double sum = epilogue.accumulate ? was : 0;
      for (std::int64_t p = 0; p < k; ++p) sum += double{*a.view.at(i, p).data} * double{*b.view.at(p, j).data};
      if (epilogue.bias) sum += epilogue.bias[j];
      if (epilogue.relu) sum = std::max(sum, 0.0);
      require(std::abs(sum - is) < 1e-4, text("element (", i, ", ", j, ") is ", is, " instead of ", sum));
    }
  }
}

/// Values and gradients of attention, against those of its small steps.
void check_attention(std::string_view input) {
  Numbers numbers(input);
  auto size = [&] { return 1 + (numbers.below(4) == 3 ? numbers.below(250) : numbers.below(24)); };
  const std::int64_t B = 1 + numbers.below(3), H = 1 + numbers.below(5), T = size(), D = 1 + numbers.below(20);
  const std::int64_t E = 1 + numbers.below(20), S = numbers.below(2) == 1 ? size() : T;
  const bool shared = numbers.below(3) == 2;  // one key and value for all heads
  Mask mask = numbers.below(3) == 0 ? Mask::none() : numbers.below(2) == 0 ? Mask::causal() : Mask::first();
  if (numbers.below(3) == 2) {
    Ids hidden = Ids::zeros({B, S});
    for (std::int32_t& one : hidden.values()) one = numbers.below(3) == 0;
    mask = mask & Mask::padding(hidden);
  }
  const std::int64_t heads = shared ? 1 : H;
  auto any = [&](const Shape& shape, std::uint64_t seed) {
    Generator generator(seed);
    return randn(shape, DType::f64, generator);
  };
  const std::vector<Tensor> qkv{any({B, H, T, D}, 1), any({B, heads, S, D}, 2), any({B, heads, S, E}, 3)};
  const Tensor weight = any({B, H, T, E}, 4);

  auto run = [&](int threads, const auto& attend) {
    const tests::WithThreads with(threads);
    Tape tape;
    std::vector<Tensor> inputs;
    for (const Tensor& x : qkv) inputs.push_back(clone(x).set_requires_grad());
    const Tensor out = attend(inputs[0], inputs[1], inputs[2]);
    std::vector<Tensor> results = tape.gradients(sum(out * weight), inputs);
    results.push_back(out);
    return results;
  };
  auto fused = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return attention(q, k, v, mask, nn::score_scale(q));
  };
  auto composed = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(nn::attention_weights(q, k, mask), v);
  };
  const auto alone = run(1, fused), on_three = run(3, fused), in_steps = run(1, composed);
  const char* names[] = {"dq", "dk", "dv", "the output"};
  for (std::size_t i = 0; i < alone.size(); ++i) {
    require(is_close(alone[i], in_steps[i], 1e-10), text(names[i], " is that of the small steps"));
    require(alone[i].to_vector() == on_three[i].to_vector(), text(names[i], ": three threads give the bits of one"));
  }
}

}  // namespace

std::vector<Target> kernel_targets() {
  auto right = [](void (*check)(std::string_view)) {
    return [check](std::string_view input) { must([&] { check(input); }); };
  };
  return {
      {"product",
       right(check_product),
       {{"\0\5\1\41\2\3\0\0\0\1\2\1\1\0\1\1\1\40\0", 19},
        {"\7\144\0\44\7\110\1\1\1\0\0\0\1", 13},
        {"\7\144\7\144\7\144\0\1\2\0\1\1\0\1", 14}}},  // large enough for threads
      {"attention",
       right(check_attention),
       {{"\1\2\0\5\7\10\0\0\1\1", 10}, {"\2\3\3\100\20\5\1\0\11\2\0\2\1\2\0\1", 16}}},
  };
}

}  // namespace reel::fuzz
