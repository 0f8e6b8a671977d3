// Fused attention against the same in small steps, and what a mask hides.

#include "autograd/mask.h"
#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, double scale) {
  return matmul(softmax(mask.apply(matmul(q * scale, k.transpose(-1, -2))), -1), v);
}

/// Value and gradients for a random cotangent.
std::vector<Tensor> results(decltype(&composed) f, std::vector<Tensor> inputs, const Mask& mask, double scale) {
  for (Tensor& x : inputs) x = detach(x).requires_grad();  // leaves of this call alone
  Tape tape;
  const Tensor out = f(inputs[0], inputs[1], inputs[2], mask, scale);
  tape.backward(sum(out * away_from_zero(out.shape(), 9, out.dtype())));
  return {detach(out), inputs[0].grad(), inputs[1].grad(), inputs[2].grad()};
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  const Values left = a.to_vector(), right = b.to_vector();
  for (std::size_t i = 0; i < left.size(); ++i) largest = std::max(largest, std::abs(left[i] - right[i]));
  return largest;
}

void check_same(const std::vector<Tensor>& inputs, const Mask& mask, double tolerance) {
  const auto fused = results(attention, inputs, mask, 0.4), steps = results(composed, inputs, mask, 0.4);
  for (std::size_t i = 0; i < fused.size(); ++i) {
    REQUIRE(fused[i].shape() == steps[i].shape());
    CHECK(largest_difference(fused[i], steps[i]) < tolerance);
  }
}

/// 1 for about a third of the keys, and for all of the second text.
Ids some_hidden(int64_t texts, int64_t keys) {
  Ids hidden = Ids::zeros({texts, keys});
  for (int64_t i = 0; i < hidden.numel(); ++i) hidden.data()[i] = i * 7 % 3 == 0 || i / keys == 1 ? 1 : 0;
  return hidden;
}

/// q, k and v of H heads, cut out of (B, T, H D) as layers do it.
std::vector<Tensor> by_heads(int64_t T, int64_t S, int64_t D, int64_t E, DType dtype) {
  constexpr int64_t B = 2, H = 3;
  return {away_from_zero({B, T, H, D}, 1, dtype).transpose(1, 2),
          away_from_zero({B, S, H, D}, 2, dtype).transpose(1, 2),
          away_from_zero({B, S, H, E}, 3, dtype).transpose(1, 2)};
}

}  // namespace

TEST_CASE("attention: fused is the same as in small steps, at every size of a block") {
  for (const int64_t T : {1, 2, 15, 63, 64, 65, 130}) {
    for (const int64_t S : {1, 31, 64, 255, 257}) {
      for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first(), Mask::padding(some_hidden(2, S)),
                               Mask::causal() & Mask::padding(some_hidden(2, S))}) {
        CAPTURE(T, S);
        check_same(by_heads(T, S, 5, 9, DType::f64), mask, 1e-12);
      }
    }
  }
}

TEST_CASE("attention: fused is the same where it keeps its weights, as it does of few keys") {
  for (const int64_t T : {1, 15, 63, 65, 130}) {
    for (const int64_t S : {1, 31, 257}) {
      for (const Mask& mask : {Mask::none(), Mask::first(), Mask::causal() & Mask::padding(some_hidden(2, S))}) {
        CAPTURE(T, S);
        check_same(by_heads(T, S, S + 3, 9, DType::f64), mask, 1e-12);
      }
    }
  }
  check_same(by_heads(70, 40, 40, 8, DType::f32), Mask::causal(), 2e-4);
}

TEST_CASE("attention: fused in f32, wide heads whose rows lie a page apart") {
  check_same({away_from_zero({1, 70, 8, 128}, 1, DType::f32).transpose(1, 2),
              away_from_zero({1, 300, 8, 128}, 2, DType::f32).transpose(1, 2),
              away_from_zero({1, 300, 8, 128}, 3, DType::f32).transpose(1, 2)},
             Mask::causal(), 2e-4);
}

TEST_CASE("attention: any strides, and leading axes that repeat") {
  const Tensor q = away_from_zero({2, 3, 7, 4}, 1), k = away_from_zero({4, 6}, 2).transpose(0, 1);
  const Tensor v = away_from_zero({3, 6, 10}, 3).slice(-1, 0, 10, 2);
  check_same({q, k, v}, Mask::causal(), 1e-12);
  check_same({away_from_zero({7, 4}, 4), k, away_from_zero({6, 5}, 5)}, Mask::none(), 1e-12);
}

TEST_CASE("attention: nothing to see, nothing to say") {
  const std::vector<Tensor> inputs = by_heads(4, 4, 5, 3, DType::f64);
  const Ids all = some_hidden(2, 4);
  const auto hidden = results(attention, inputs, Mask::padding(all), 1);
  for (const Tensor& result : hidden) CHECK(all_finite(result));
  CHECK(hidden[0].select(0, 1).to_vector() == Values(3 * 4 * 3, 0.0));  // the second text is hidden as a whole
  CHECK(hidden[1].select(0, 1).to_vector() == Values(3 * 4 * 5, 0.0));
  const auto strict = results(attention, inputs, Mask::first(), 1);
  CHECK(strict[0].select(2, 0).to_vector() == Values(2 * 3 * 3, 0.0));  // the first query sees nothing

  const auto no_keys = results(attention, by_heads(4, 0, 5, 3, DType::f64), Mask::none(), 1);
  CHECK(no_keys[0].to_vector() == Values(2 * 3 * 4 * 3, 0.0));
  CHECK(no_keys[1].to_vector() == Values(2 * 3 * 4 * 5, 0.0));
  CHECK(results(attention, by_heads(0, 4, 5, 3, DType::f64), Mask::none(), 1)[2].to_vector() ==
        Values(2 * 3 * 4 * 5, 0.0));
}

TEST_CASE("attention: scores that exp would overflow at") {
  const Tensor q = away_from_zero({3, 4}, 1) * 1e4, k = away_from_zero({5, 4}, 2), v = away_from_zero({5, 2}, 3);
  check_same({q, k, v}, Mask::none(), 1e-7);
}

TEST_CASE("attention: heads that a view cut out are put together by a view") {
  const std::vector<Tensor> inputs = by_heads(6, 6, 4, 4, DType::f32);
  const Tensor out = attention(inputs[0], inputs[1], inputs[2], Mask::none(), 1);
  CHECK(out.transpose(1, 2).is_contiguous());
}

TEST_CASE("attention: its memory does not grow with the square of the length") {
  auto peak_at = [](int64_t T) {
    std::vector<Tensor> inputs = by_heads(T, T, 8, 8, DType::f32);
    for (Tensor& x : inputs) x.requires_grad();
    const std::size_t before = memory_stats().current;
    reset_peak_memory();
    Tape tape;
    tape.backward(sum(attention(inputs[0], inputs[1], inputs[2], Mask::causal(), 1)));
    return memory_stats().peak - before;
  };
  CHECK(peak_at(2048) < 6 * peak_at(512));  // not 16 times as much
}

TEST_CASE("attention: what does not fit is an error") {
  const Tensor q = zeros({2, 3, 4}), k = zeros({2, 5, 4}), v = zeros({2, 5, 6});
  auto run = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Mask& mask, double scale) {
    return [=] { attention(a, b, c, mask, scale); };
  };
  CHECK_THROWS_WITH(run(q, zeros({2, 5, 3}), v, Mask::none(), 1)(),
                    "attention: q is (2, 3, 4), k is (2, 5, 3), v is (2, 5, 6); need (..., T, D), (..., S, D) and "
                    "(..., S, E)");
  CHECK_THROWS_AS(run(q, k, zeros({2, 4, 6}), Mask::none(), 1)(), Error);
  CHECK_THROWS_AS(run(zeros({4}), k, v, Mask::none(), 1)(), Error);
  CHECK_THROWS_AS(run(q, zeros({2, 5, 4}, DType::f64), v, Mask::none(), 1)(), Error);
  CHECK_THROWS_AS(run(q, k, v, Mask::none(), 0)(), Error);
  CHECK_THROWS_AS(run(q, k, v, Mask::padding(Ids::zeros({2, 4})), 1)(), Error);
  CHECK_THROWS_AS(run(zeros({3, 4}), zeros({5, 4}), zeros({5, 6}), Mask::padding(Ids::zeros({3, 5})), 1)(), Error);
}
