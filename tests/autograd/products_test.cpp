#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

/// The product, by its definition, of two matrices.
Values plain_product(const Tensor& a, const Tensor& b) {
  Values result;
  for (int64_t i = 0; i < a.size(0); ++i) {
    for (int64_t j = 0; j < b.size(1); ++j) result.push_back(sum(a.select(0, i) * b.select(1, j)).item());
  }
  return result;
}

/// The convolution by its definition.
Values plain_conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  const int64_t T = x.size(2), K = weight.size(2);
  const int64_t length = (T + 2 * options.padding - options.dilation * (K - 1) - 1) / options.stride + 1;
  Values y;
  for (int64_t b = 0; b < x.size(0); ++b) {
    for (int64_t out = 0; out < weight.size(0); ++out) {
      for (int64_t t = 0; t < length; ++t) {
        double total = bias.defined() ? bias.select(0, out).item() : 0;
        for (int64_t in = 0; in < x.size(1); ++in) {
          for (int64_t k = 0; k < K; ++k) {
            const int64_t from = t * options.stride + k * options.dilation - options.padding;
            if (from < 0 || from >= T) continue;
            total += x.select(0, b).select(0, in).select(0, from).item() *
                     weight.select(0, out).select(0, in).select(0, k).item();
          }
        }
        y.push_back(total);
      }
    }
  }
  return y;
}

Tensor any(const Shape& shape, std::uint64_t seed = 1) { return away_from_zero(shape, seed); }

}  // namespace

TEST_CASE("matrix products, transposed and sliced operands included") {
  const Tensor a = any({5, 7}), b = any({7, 3}, 2);
  check_close(matmul(a, b).to_vector(), plain_product(a, b));
  check_close(matmul(b.transpose(0, 1), a.transpose(0, 1)).to_vector(),
              plain_product(b.transpose(0, 1), a.transpose(0, 1)));
  const Tensor odd = a.slice(1, 0, 7, 2), rows = b.slice(0, 0, 7, 2);
  check_close(matmul(odd, rows).to_vector(), plain_product(odd, rows));
  const Tensor same_rows = any({7}, 3).expand({4, 7});
  check_close(matmul(same_rows, b).to_vector(), plain_product(same_rows, b));
}

TEST_CASE("vectors, batches and broadcast batches") {
  const Tensor v = any({3}), w = any({3}, 2), m = any({3, 4}, 3), batch = any({2, 5, 3}, 4),
               more = any({6, 1, 3, 4}, 5);
  CHECK(matmul(v, w).shape() == Shape{});
  CHECK(matmul(v, w).item() == Approx(sum(v * w).item()));
  CHECK(matmul(v, m).shape() == Shape{4});
  CHECK(matmul(batch, v).shape() == Shape{2, 5});
  CHECK(matmul(v, more).shape() == Shape{6, 1, 4});
  CHECK(matmul(batch, m).shape() == Shape{2, 5, 4});
  CHECK(matmul(m.transpose(0, 1), batch.transpose(1, 2)).shape() == Shape{2, 4, 5});
  const Tensor all = matmul(batch, more);
  CHECK(all.shape() == Shape{6, 2, 5, 4});
  for (const int64_t i : {0, 5}) {
    for (const int64_t j : {0, 1}) {
      check_close(all.select(0, i).select(0, j).to_vector(),
                  plain_product(batch.select(0, j), more.select(0, i).select(0, 0)));
    }
  }
}

TEST_CASE("products with empty axes") {
  CHECK(matmul(zeros({0, 3}), ones({3, 2})).shape() == Shape{0, 2});
  CHECK(matmul(zeros({2, 3}), zeros({3, 0})).shape() == Shape{2, 0});
  CHECK(matmul(zeros({2, 0}), zeros({0, 3})).to_vector() == Values(6, 0));
  CHECK(matmul(zeros({0}), zeros({0})).item() == 0);
  CHECK(matmul(zeros({0, 2, 3}), ones({3, 4})).shape() == Shape{0, 2, 4});
  CHECK(linear(zeros({0, 3}), ones({2, 3}), ones({2})).shape() == Shape{0, 2});
  CHECK(linear(zeros({2, 0}), zeros({3, 0}), ones({3})).to_vector() == Values(6, 1));
  const auto dx = gradients_of([](const auto& x) { return matmul(x[0], x[1]); },
                               {zeros({2, 0}, DType::f64), zeros({0, 3}, DType::f64)});
  CHECK(dx[0].shape() == Shape{2, 0});
  CHECK(dx[1].shape() == Shape{0, 3});
  const auto dw = gradients_of([](const auto& x) { return linear(x[0], x[1], x[2]); },
                               {zeros({0, 3}, DType::f64), ones({2, 3}, DType::f64), ones({2}, DType::f64)});
  CHECK(dw[1].to_vector() == Values(6, 0));
  CHECK(dw[2].to_vector() == Values(2, 0));
}

TEST_CASE("products that do not fit are refused with the shapes that were given") {
  CHECK_THROWS_WITH(matmul(ones({2, 3}), ones({4, 5})),
                    ContainsSubstring("matmul: inner dimensions differ: a is (2, 3), b is (4, 5)"));
  CHECK_THROWS_WITH(matmul(ones({2, 6, 3}), ones({4, 5})), ContainsSubstring("a is (2, 6, 3), b is (4, 5)"));
  CHECK_THROWS_WITH(matmul(ones({3}), ones({4})), ContainsSubstring("a is (3,), b is (4,)"));
  CHECK_THROWS_WITH(matmul(ones({2, 3}), ones({4})), ContainsSubstring("a is (2, 3), b is (4,)"));
  CHECK_THROWS_WITH(matmul(ones({2, 1, 3}), ones({3, 3, 1})),
                    ContainsSubstring("matmul: a is (2, 1, 3), b is (3, 3, 1); need leading axes that are equal"));
  CHECK_THROWS_WITH(matmul(scalar(1), ones({3})), ContainsSubstring("matmul: a is (), b is (3,)"));
  CHECK_THROWS_WITH(matmul(ones({2, 2}), ones({2, 2}, DType::f64)),
                    ContainsSubstring("matmul: operands are f32 and f64"));
}

TEST_CASE("linear is x Wᵀ + b over the last axis") {
  const Tensor x = any({2, 3, 5}), weight = any({4, 5}, 2), bias = any({4}, 3);
  const Tensor y = linear(x, weight, bias);
  CHECK(y.shape() == Shape{2, 3, 4});
  check_close(y.to_vector(), (matmul(x, weight.transpose(0, 1)) + bias).to_vector());
  check_close(linear(x, weight).to_vector(), matmul(x, weight.transpose(0, 1)).to_vector());
  CHECK(linear(any({5}), weight, bias).shape() == Shape{4});
  check_close(linear(x.transpose(0, 1), weight, any({8}, 3).slice(0, 0, 8, 2)).to_vector(),
              (matmul(x.transpose(0, 1), weight.transpose(0, 1)) + any({8}, 3).slice(0, 0, 8, 2)).to_vector());
}

TEST_CASE("linear: its products add to the gradients that are there, but not to what somebody else sees") {
  using Map = Tensor (*)(const Tensor&, const Tensor&);
  using Model = std::function<Tensor(Map, const Tensor& x, const Tensor& w)>;  // x (2, 3, 4), w (4, 4)
  const Map composed = [](const Tensor& x, const Tensor& w) { return matmul(x, w.transpose(0, 1)); };
  const Map fused = [](const Tensor& x, const Tensor& w) { return linear(x, w); };
  const Tensor c = any({2, 3, 4}, 7);
  const std::vector<std::pair<const char*, Model>> models{
      {"a leaf, several times", [&](Map f, const Tensor& x, const Tensor& w) { return f(f(x, w), w) + f(x, w) * c; }},
      {"a result, several times",
       [&](Map f, const Tensor& x, const Tensor& w) {
         const Tensor h = tanh(x);
         return f(h, w) * f(h, w * 2.0) + f(h, w);
       }},
      {"after a gradient that is a view",
       [&](Map f, const Tensor& x, const Tensor& w) {
         const Tensor h = tanh(x), y = f(h, w);
         return y + (h.transpose(0, 2) * c.transpose(0, 2)).transpose(0, 2);
       }},
      {"after a gradient that two inputs share",
       [&](Map f, const Tensor& x, const Tensor& w) {
         const Tensor g = tanh(x), h = tanh(x * 0.5), y = f(h, w);
         return y * c + (g + h);
       }},
  };
  for (const auto& [name, model] : models) {
    CAPTURE(name);
    auto gradients_after_three_passes = [&, &m = model](Map f) {
      const Tensor x = any({2, 3, 4}).set_requires_grad(), w = any({4, 4}, 2).set_requires_grad();
      auto pass = [&] {
        Tape tape;
        tape.backward(sum(m(f, x, w)));
      };
      pass();
      const Tensor held = w.grad();
      const Values before = held.to_vector();
      pass();
      CHECK(held.to_vector() == before);
      pass();  // now nobody holds it
      Values all = x.grad().to_vector(), of_w = w.grad().to_vector();
      all.insert(all.end(), of_w.begin(), of_w.end());
      return all;
    };
    check_close(gradients_after_three_passes(fused), gradients_after_three_passes(composed));
  }
}

TEST_CASE("linear is one entry, whatever the rank of x") {
  const Tensor w = any({4, 5}).set_requires_grad();
  for (const Shape& shape : {Shape{5}, Shape{3, 5}, Shape{2, 3, 5}}) {
    const Tensor x = any(shape, 2).set_requires_grad();
    Tape tape;
    linear(x, w);
    CHECK(tape.size() == 1);
  }
}

TEST_CASE("linear_relu is relu of linear, bit by bit, and so are its gradients") {
  for (const Shape& shape : {Shape{40}, Shape{7, 40}, Shape{3, 5, 40}, Shape{0, 40}}) {
    const std::vector<Tensor> inputs{any(shape), any({33, 40}, 2), any({33}, 3)};
    const Tensor y = linear_relu(inputs[0], inputs[1], inputs[2]);
    CHECK(same_bits(y, relu(linear(inputs[0], inputs[1], inputs[2]))));
    CHECK(same_bits(linear_relu(inputs[0], inputs[1]), relu(linear(inputs[0], inputs[1]))));
    const auto fused = gradients_of([](const auto& x) { return linear_relu(x[0], x[1], x[2]); }, inputs);
    const auto composed = gradients_of([](const auto& x) { return relu(linear(x[0], x[1], x[2])); }, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(same_bits(fused[i], composed[i]));
  }
}

TEST_CASE("linear_relu: NaN stays, and at 0 there is no gradient") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor({2, 1}, {nan, 0}, DType::f64), w = ones({3, 1}, DType::f64);
  const Values y = linear_relu(x, w).to_vector();
  CHECK(std::isnan(y[0]));
  CHECK(y[3] == 0);
  const auto gradients =
      gradients_of([](const auto& in) { return linear_relu(in[0], in[1]); }, {tensor({1, 1}, {0}, DType::f64), w});
  CHECK(gradients[0].to_vector() == Values{0});
}

TEST_CASE("linear refuses what does not fit") {
  CHECK_THROWS_WITH(linear(ones({2, 3}), ones({4, 5})),
                    ContainsSubstring("linear") && ContainsSubstring("(2, 3)") && ContainsSubstring("(4, 5)"));
  CHECK_THROWS_WITH(linear(ones({2, 3}), ones({3})), ContainsSubstring("linear: x is (2, 3), weight is (3,)"));
  CHECK_THROWS_WITH(linear(scalar(1), ones({1, 1})), ContainsSubstring("linear: x is ()"));
  CHECK_THROWS_WITH(linear(ones({2, 3}), ones({4, 3}), ones({3})), ContainsSubstring("linear: bias is (3,)"));
  CHECK_THROWS_WITH(linear(ones({2, 3}), ones({4, 3}, DType::f64)),
                    ContainsSubstring("linear: operands are f32 and f64"));
  CHECK_THROWS_WITH(linear(ones({2, 3}), ones({4, 3}), ones({4}, DType::f64)),
                    ContainsSubstring("linear: operands are f32 and f64"));
  CHECK_THROWS_WITH(linear_relu(ones({2, 3}), ones({4, 5})), ContainsSubstring("linear_relu: inner dimensions differ"));
  CHECK_THROWS_WITH(linear_relu(ones({2, 3}), ones({4, 3}), ones({3})), ContainsSubstring("linear_relu: bias is (3,)"));
}

TEST_CASE("conv1d agrees with its definition") {
  const Tensor x = any({2, 3, 9}), bias = any({4}, 3);
  for (const int64_t K : {1, 2, 3}) {
    const Tensor weight = any({4, 3, K}, 2);
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t padding : {0, 1, 4}) {
        for (const int64_t dilation : {1, 2, 3}) {
          const Conv1dOptions options{stride, padding, dilation};
          INFO("K " << K << ", stride " << stride << ", padding " << padding << ", dilation " << dilation);
          const Tensor y = conv1d(x, weight, bias, options);
          CHECK(y.size(2) == (9 + 2 * padding - dilation * (K - 1) - 1) / stride + 1);
          check_close(y.to_vector(), plain_conv1d(x, weight, bias, options));
          check_close(conv1d(x.transpose(0, 1).contiguous().transpose(0, 1), weight, {}, options).to_vector(),
                      plain_conv1d(x, weight, {}, options));
        }
      }
    }
  }
  CHECK(conv1d(zeros({0, 3, 9}), ones({4, 3, 2}), ones({4})).shape() == Shape{0, 4, 8});
}

TEST_CASE("conv1d refuses what does not fit") {
  const Tensor x = ones({2, 3, 4}), weight = ones({5, 3, 2});
  CHECK_THROWS_WITH(conv1d(ones({3, 4}), weight), ContainsSubstring("conv1d: x is (3, 4), weight is (5, 3, 2)"));
  CHECK_THROWS_WITH(conv1d(x, ones({5, 2, 2})), ContainsSubstring("conv1d: x is (2, 3, 4), weight is (5, 2, 2)"));
  CHECK_THROWS_WITH(conv1d(x, weight, {}, {.stride = 0}), ContainsSubstring("conv1d: stride 0"));
  CHECK_THROWS_WITH(conv1d(x, weight, {}, {.padding = -1}), ContainsSubstring("padding -1"));
  CHECK_THROWS_WITH(conv1d(x, weight, {}, {.dilation = 0}), ContainsSubstring("dilation 0"));
  CHECK_THROWS_WITH(conv1d(x, weight, {}, {.dilation = 4}),
                    ContainsSubstring("conv1d: the kernel reaches over 5 places"));
  CHECK_THROWS_WITH(conv1d(x, ones({5, 3, 0})), ContainsSubstring("conv1d"));
  constexpr auto huge = std::numeric_limits<int64_t>::max();
  for (const int64_t dilation : {huge, huge / 2 + 1, huge / 4 + 1}) {
    for (const int64_t kernel : {2, 3, 5}) {
      CHECK_THROWS_WITH(conv1d(x, ones({5, 3, kernel}), {}, {.dilation = dilation}), ContainsSubstring("conv1d: "));
    }
  }
  for (const int64_t padding : {huge, huge / 2, huge / 2 - 1, huge / 4}) {
    CHECK_THROWS_WITH(conv1d(x, weight, {}, {.padding = padding}), ContainsSubstring("conv1d: "));
  }
  CHECK_THROWS_WITH(conv1d(x, weight, ones({4})), ContainsSubstring("conv1d: bias is (4,)"));
  CHECK_THROWS_WITH(conv1d(x, weight, ones({5, 1})), ContainsSubstring("conv1d: bias is (5, 1)"));
  CHECK_THROWS_WITH(conv1d(x, ones({5, 3, 2}, DType::f64)), ContainsSubstring("conv1d: operands are f32 and f64"));
}
