// Fused attention against the same in small steps, and what a mask hides.

#include "autograd/kernels/attention.h"
#include "autograd/gradcheck.h"
#include "autograd/mask.h"
#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

using Attend = std::function<Tensor(const std::vector<Tensor>& inputs)>;

Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, double scale) {
  return matmul(softmax(mask.apply(matmul(q * scale, k.transpose(-1, -2))), -1), v);
}

/// Value and gradients for a random cotangent.
std::vector<Tensor> results(const Attend& f, std::vector<Tensor> inputs) {
  for (Tensor& x : inputs) x = detach(x).set_requires_grad();  // leaves of this call alone
  Tape tape;
  const Tensor out = f(inputs);
  tape.backward(sum(out * away_from_zero(out.shape(), 9, out.dtype())));
  std::vector<Tensor> all{detach(out)};
  for (const Tensor& x : inputs) all.push_back(x.grad());
  return all;
}

/// Infinity where one of them is NaN.
double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  const Values left = a.to_vector(), right = b.to_vector();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double difference = std::abs(left[i] - right[i]);
    largest = std::isnan(difference) ? infinity : std::max(largest, difference);
  }
  return largest;
}

Attend fused(const Mask& mask, double scale) {
  return [=](const std::vector<Tensor>& in) { return attention(in[0], in[1], in[2], mask, scale); };
}

void check_same(const std::vector<Tensor>& inputs, const Attend& some, const Attend& others, double tolerance) {
  const auto found = results(some, inputs), expected = results(others, inputs);
  for (std::size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].shape() == expected[i].shape());
    CHECK(largest_difference(found[i], expected[i]) < tolerance);
  }
}

void check_same(const std::vector<Tensor>& inputs, const Mask& mask, double tolerance) {
  auto steps = [=](const std::vector<Tensor>& in) { return composed(in[0], in[1], in[2], mask, 0.4); };
  check_same(inputs, fused(mask, 0.4), steps, tolerance);
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

TEST_CASE("attention: fused is the same where all heads keep their weights, as of few keys, or some of them") {
  for (const int64_t T : {1, 15, 63, 65, 130}) {
    for (const int64_t S : {1, 31, 257}) {
      for (const int64_t D : {S + 3, S / 6 + 1}) {
        for (const Mask& mask : {Mask::none(), Mask::first(), Mask::causal() & Mask::padding(some_hidden(2, S))}) {
          CAPTURE(T, S, D);
          check_same(by_heads(T, S, D, 9, DType::f64), mask, 1e-12);
        }
      }
    }
  }
  check_same(by_heads(70, 40, 40, 8, DType::f32), Mask::causal(), 2e-4);
}

TEST_CASE("attention: fused is the same where products end in a few columns, as wide as these are deep") {
  for (const int64_t T : {66, 130}) {
    for (const int64_t S : {65, 257}) {
      for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first()}) {
        CAPTURE(T, S);
        check_same(by_heads(T, S, 66, 82, DType::f64), mask, 1e-12);
      }
    }
  }
}

TEST_CASE("attention: fused is the same where threads share the queries and keys of a head") {
  for (const int64_t T : {33, 63, 96, 150, 300}) {
    for (const int64_t S : {1, 128, 150, 257, 1100}) {
      for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first()}) {
        CAPTURE(T, S);
        const std::vector<Tensor> one{away_from_zero({T, 5}, 1), away_from_zero({S, 5}, 2), away_from_zero({S, 9}, 3)};
        check_same(one, mask, 1e-12);
      }
    }
  }
  const Mask mask = Mask::causal() & Mask::padding(some_hidden(3, 200));  // three heads, the second hidden as a whole
  check_same({away_from_zero({3, 150, 5}, 1), away_from_zero({3, 200, 5}, 2), away_from_zero({3, 200, 9}, 3)}, mask,
             1e-12);
}

TEST_CASE("attention: weights are dropped as dropout() does it, each of their columns from a block of its own on") {
  // columns: (..., S, T), T in whole blocks of four words
  auto check_dropped = [](const std::vector<Tensor>& inputs, const Mask& mask, const Dims& columns) {
    auto found = [&](const std::vector<Tensor>& in) {
      Generator generator(5);
      generator.bits();
      return attention(in[0], in[1], in[2], mask, 0.4, 0.3, generator);
    };
    auto expected = [&](const std::vector<Tensor>& in) {
      Generator generator(5);
      generator.bits();
      const Tensor weights = softmax(mask.apply(matmul(in[0] * 0.4, in[1].transpose(-1, -2))), -1);
      const Tensor kept = dropout(ones(columns, DType::f64), 0.3, generator).slice(-1, 0, in[0].size(-2));
      return matmul(weights * kept.transpose(-1, -2), in[2]);
    };
    check_same(inputs, found, expected, 1e-12);
  };
  for (const int64_t T : {1, 4, 15, 64, 66, 130}) {
    for (const int64_t S : {1, 31, 257}) {
      for (const int64_t D : {int64_t{3}, S / 6 + 1, S + 1}) {  // few heads keep their weights, or some, or all
        CAPTURE(T, S, D);
        check_dropped(by_heads(T, S, D, 9, DType::f64), Mask::causal() & Mask::padding(some_hidden(2, S)),
                      {2, 3, S, (T + 3) / 4 * 4});
      }
    }
  }
  for (const int64_t D : {5, 400}) {  // a single head, which does not keep its weights, or does
    CAPTURE(D);
    check_dropped({away_from_zero({300, D}, 1), away_from_zero({257, D}, 2), away_from_zero({257, 9}, 3)},
                  Mask::causal(), {257, 300});
  }
}

TEST_CASE("attention: what is dropped leaves the mean as it was") {
  Generator generator(6);
  const std::vector<Tensor> in = by_heads(60, 50, 4, 4, DType::f64);
  Tensor total = zeros({2, 3, 60, 4}, DType::f64);
  constexpr int rounds = 400;
  for (int i = 0; i < rounds; ++i) total = total + attention(in[0], in[1], in[2], Mask::none(), 1, 0.25, generator);
  const Tensor whole = attention(in[0], in[1], in[2], Mask::none(), 1);
  CHECK(largest_difference(total * (1.0 / rounds), whole) < 0.2);
  CHECK(largest_difference(total, whole * static_cast<double>(rounds)) > 0.1);  // something was dropped
}

TEST_CASE("attention: what an earlier one left in its buffers does not matter") {
  const Mask mask = Mask::causal() & Mask::padding(some_hidden(2, 40));
  for (const int64_t D : {5, 41}) {  // of few keys, weights are kept
    for (const int64_t T : {1, 5, 40}) {
      CAPTURE(D, T);
      std::vector<Tensor> bad = by_heads(64, 40, D, 9, DType::f64);
      for (Tensor& x : bad) x = full(x.shape(), not_a_number, DType::f64);
      results(fused(Mask::none(), 0.4), bad);
      check_same(by_heads(T, 40, D, 9, DType::f64), mask, 1e-12);
    }
  }
}

TEST_CASE("attention: of weights that are kept, nothing is read that was not written") {
  // Of keys that no query sees, too: the first queries see none of the last 1,000 - 65 keys.
  // Threads share three heads' queries and keys, or five heads.
  for (auto [H, T, S, E] : {std::array<int64_t, 4>{3, 400, 400, 1},
                            {3, 400, 400, 9},
                            {5, 400, 400, 9},
                            {3, 65, 1000, 1},
                            {5, 65, 1000, 1},
                            {3, 65, 1000, 40},
                            {5, 7, 0, 3}}) {
    for (const std::uint32_t threshold : {0U, 1U << 30}) {
      CAPTURE(H, T, S, E, threshold);
      constexpr int64_t D = 5;
      const std::vector<int64_t> batch{H};
      kernels::AttentionShape shape{batch, T, S, D, E, 0.4, 0};
      shape.dropout = {.key = 7, .first_block = 0, .threshold = threshold, .scale = 4.0 / 3};
      auto heads = [](const Tensor& x) {
        return kernels::Heads<const double>{{x.data<double>(), x.size(2), 1}, kernels::Sizes(x.strides().begin(), 1)};
      };
      auto written = [](Tensor& x) {
        return kernels::Heads<double>{{x.data<double>(), x.size(2), 1}, kernels::Sizes(x.strides().begin(), 1)};
      };
      const DType dtype = DType::f64;
      const Tensor q = away_from_zero({H, T, D}, 1, dtype), k = away_from_zero({H, S, D}, 2, dtype),
                   v = away_from_zero({H, S, E}, 3, dtype), dout = away_from_zero({H, T, E}, 4, dtype);
      std::vector<std::vector<Tensor>> found;
      for (shape.heads_kept = 0; shape.heads_kept <= H; ++shape.heads_kept) {
        const auto size = static_cast<std::size_t>(shape.heads_kept * kernels::weights_size<double>(shape));
        std::vector<double> logs(static_cast<std::size_t>(H * T)), weights(size, std::nan(""));
        Tensor out = zeros({H, T, E}, dtype), dq = zeros({H, T, D}, dtype), dk = zeros({H, S, D}, dtype),
               dv = zeros({H, S, E}, dtype);
        kernels::attention<double>(shape, heads(q), heads(k), heads(v), written(out), logs.data(), weights.data());
        kernels::attention_backward<double>(shape, heads(q), heads(k), heads(v), heads(out), logs.data(),
                                            weights.data(), heads(dout), written(dq), written(dk), written(dv));
        found.push_back({out, dq, dk, dv});
      }
      for (const std::vector<Tensor>& some_kept : found) {
        for (std::size_t i = 0; i < 4; ++i) CHECK(largest_difference(some_kept[i], found[0][i]) < 1e-11);
      }
    }
  }
}

TEST_CASE("attention: packed texts are each by itself") {
  // Texts of one query or key, of none, of a block's length and more; some whose heads keep their weights.
  const Ids q_starts({0, 1, 8, 8, 72, 137}), k_starts({0, 5, 5, 9, 73, 340});
  for (const int64_t D : {4, 80}) {
    const std::vector<Tensor> inputs{away_from_zero({137, 2, D}, 1).transpose(0, 1),
                                     away_from_zero({340, 2, D}, 2).transpose(0, 1),
                                     away_from_zero({340, 2, 3}, 3).transpose(0, 1)};
    for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first()}) {
      auto found = [&](const std::vector<Tensor>& in) {
        return packed_attention(in[0], in[1], in[2], q_starts, k_starts, mask, 0.4);
      };
      auto expected = [&](const std::vector<Tensor>& in) {
        std::vector<Tensor> texts;
        for (int64_t b = 0; b + 1 < q_starts.numel(); ++b) {
          const std::int32_t *q = q_starts.data() + b, *k = k_starts.data() + b;
          texts.push_back(
              composed(in[0].slice(1, q[0], q[1]), in[1].slice(1, k[0], k[1]), in[2].slice(1, k[0], k[1]), mask, 0.4));
        }
        return cat(texts, 1);
      };
      check_same(inputs, found, expected, 1e-12);
    }
  }
}

TEST_CASE("attention: no packed texts have second derivatives, too") {
  const Tensor x = zeros({2, 0, 3}, DType::f64).set_requires_grad();
  Tape tape;
  const Tensor y = packed_attention(x, x, x, Ids({0}), Ids({0}), Mask::none(), 1);
  const Tensor dx = tape.gradients(sum(y * y), {x}, CreateGraph::yes)[0];
  CHECK(dx.shape() == x.shape());
  CHECK(tape.gradients(sum(dx * dx), {x})[0].shape() == x.shape());
}

TEST_CASE("attention: packed texts of one length drop what a batch of them drops") {
  const std::vector<Tensor> one_after_another{away_from_zero({3, 12, 5}, 1), away_from_zero({3, 14, 5}, 2),
                                              away_from_zero({3, 14, 2}, 3)};
  auto found = [](const std::vector<Tensor>& in) {
    Generator generator(4);
    return packed_attention(in[0], in[1], in[2], Ids({0, 6, 12}), Ids({0, 7, 14}), Mask::causal(), 0.4, 0.5, generator);
  };
  auto expected = [](const std::vector<Tensor>& in) {
    Generator generator(4);
    auto batch = [](const Tensor& x) { return x.view({3, 2, x.size(1) / 2, x.size(2)}).transpose(0, 1); };
    const Tensor out = attention(batch(in[0]), batch(in[1]), batch(in[2]), Mask::causal(), 0.4, 0.5, generator);
    return out.transpose(0, 1).reshape({3, 12, 2});
  };
  check_same(one_after_another, found, expected, 1e-13);
}

TEST_CASE("attention: a scale that the dtype cannot hold is an error") {
  const Tensor q = ones({1, 2, 4});
  for (const double scale : {0.0, -1.0, 1e-46, 1e39, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_WITH(attention(q, q, q, Mask::causal(), scale), ContainsSubstring("attention: the scale is "));
  }
  CHECK(attention(q, q, q, Mask::causal(), 1e-30).to_vector() == Values(8, 1));
  const Tensor wide = ones({1, 2, 4}, DType::f64);
  CHECK(attention(wide, wide, wide, Mask::causal(), 1e-46).to_vector() == Values(8, 1));
}

TEST_CASE("attention: packed, what does not fit is an error") {
  const Tensor q = zeros({2, 5, 4}), k = zeros({2, 7, 4}), v = zeros({2, 7, 3});
  auto run = [&](const Ids& q_starts, const Ids& k_starts, const Mask& mask = Mask::none(), double drop = 0) {
    packed_attention(q, k, v, q_starts, k_starts, mask, 1, drop);
  };
  CHECK_NOTHROW(run(Ids({0, 2, 5}), Ids({0, 7, 7})));
  CHECK_THROWS_WITH(run(Ids({0, 2, 6}), Ids({0, 7, 7})),
                    "packed_attention: q_starts is (3,) from 0 to 6; need ascending numbers from 0 to 5, the number of "
                    "rows");
  CHECK_THROWS_WITH(run(Ids({0, 4, 2, 5}), Ids({0, 1, 2, 7})),
                    ContainsSubstring("q_starts is (4,) from 0 to 5, with 2 after 4; need ascending"));
  CHECK_THROWS_AS(run(Ids({1, 5}), Ids({0, 7})), Error);
  CHECK_THROWS_AS(run(Ids(), Ids({0, 7})), Error);
  CHECK_THROWS_AS(run(Ids({1, 2}, {0, 5}), Ids({0, 7})), Error);
  CHECK_THROWS_WITH(run(Ids({0, 2, 5}), Ids({0, 7})),
                    "packed_attention: q_starts are 3, k_starts 2; need one per text and the end, of both");
  CHECK_THROWS_AS(run(Ids({0, 5}), Ids({0, 7}), Mask::padding(Ids::zeros({2, 7}))), Error);
  CHECK_THROWS_WITH(run(Ids({0, 5}), Ids({0, 7}), Mask::none(), 1), "packed_attention: drop is 1; need 0 <= drop < 1");
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

TEST_CASE("attention: keys and values that heads share get the sum of what the heads contribute") {
  // Heads enough for 16 threads add theirs up at once, as many together as leave that many groups.
  for (const auto& [B, H] : {std::pair(1, 3), std::pair(4, 8), std::pair(16, 3), std::pair(17, 2)}) {
    for (const auto& [T, S, D] : {std::tuple(1, 1, 4), std::tuple(33, 31, 3), std::tuple(33, 31, 40),
                                  std::tuple(70, 150, 4), std::tuple(300, 130, 4)}) {
      for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first(), Mask::padding(some_hidden(B, S))}) {
        CAPTURE(B, H, T, S, D);
        const Tensor q = away_from_zero({B, T, H, D}, 1).transpose(1, 2);
        check_same({q, away_from_zero({B, 1, S, D}, 2), away_from_zero({B, 1, S, 5}, 3)}, mask, 1e-11);
      }
    }
  }
  const Tensor q = away_from_zero({16, 20, 4}, 1), k = away_from_zero({1, 30, 4}, 2), v = away_from_zero({30, 5}, 3);
  check_same({q, k, v}, Mask::padding(some_hidden(16, 30)), 1e-12);  // texts, not heads: each hides keys of its own
  check_same({q, k, v}, Mask::causal(), 1e-12);
  check_same({q, k, away_from_zero({16, 30, 5}, 3)}, Mask::causal(), 1e-12);  // the keys alone
}

TEST_CASE("attention: where values are the keys, their gradient is the sum of both") {
  for (const auto& [B, H] : {std::pair(1, 1), std::pair(2, 3), std::pair(4, 8)}) {
    for (const auto& [T, S, D] : {std::tuple(1, 1, 4), std::tuple(33, 31, 40), std::tuple(300, 260, 4)}) {
      for (const bool shared : {false, true}) {  // among heads
        for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first(), Mask::padding(some_hidden(B, S))}) {
          CAPTURE(B, H, T, S, D, shared);
          const std::vector<Tensor> inputs{away_from_zero({B, H, T, D}, 1),
                                           away_from_zero({B, shared ? 1 : H, S, D}, 2)};
          auto one = [=](const std::vector<Tensor>& in) { return attention(in[0], in[1], in[1], mask, 0.4); };
          auto steps = [=](const std::vector<Tensor>& in) { return composed(in[0], in[1], in[1], mask, 0.4); };
          check_same(inputs, one, steps, 1e-11);
        }
      }
    }
  }
  const std::vector<Tensor> few{away_from_zero({2, 2, 3, 2}, 4), away_from_zero({2, 1, 5, 2}, 5)};
  auto one = [](const std::vector<Tensor>& in) { return attention(in[0], in[1], in[1], Mask::causal(), 0.7); };
  CHECK(gradcheck(one, few).problem == "");
  CHECK(gradgradcheck(one, few).problem == "");
}

TEST_CASE("attention: dq takes the place of a q that nobody else sees") {
  Tensor kept;
  auto attend = [&](bool keep, int cut_out, const Mask& mask) {
    return [&kept, keep, cut_out, mask](const std::vector<Tensor>& in) {
      Tensor q = in[0] * 0.5;  // (..., T, H, D) or (..., H, T, D)
      if (cut_out) q = q.transpose(-3, -2);
      if (keep) kept = q;
      const double scale = 0.4;
      return attention(std::move(q), in[1], in[2], mask, scale);
    };
  };
  // Heads in rows a page apart, or near each other, of a single number; and so few heads that threads share the queries
  // of one.
  for (const auto& [H, D, cut_out] : {std::tuple(8, 128, true), std::tuple(5, 6, true), std::tuple(5, 6, false),
                                      std::tuple(5, 1, false), std::tuple(1, 6, false)}) {
    for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first()}) {
      CAPTURE(H, D, cut_out);
      const std::vector<Tensor> inputs{
          away_from_zero(cut_out ? Shape{1, 600, H, D} : Shape{1, H, 600, D}, 1, DType::f64),
          away_from_zero({1, H, 300, D}, 2, DType::f64), away_from_zero({1, H, 300, D}, 3, DType::f64)};
      const auto alone = results(attend(false, cut_out, mask), inputs);
      const auto seen = results(attend(true, cut_out, mask), inputs);
      for (std::size_t i = 0; i < alone.size(); ++i) CHECK(largest_difference(alone[i], seen[i]) < 1e-11);
      const Tensor expected = cut_out ? inputs[0].transpose(-3, -2) : inputs[0];
      CHECK(same_bits(detach(kept), expected * 0.5));
    }
  }

  auto peak = [&](bool keep) {
    const std::vector<Tensor> inputs = by_heads(600, 20, 64, 64, DType::f32);
    const Tensor q = detach(inputs[0]).set_requires_grad();
    Tape tape;
    const Tensor loss = sum(attend(keep, false, Mask::none())({q, inputs[1], inputs[2]}));
    const std::size_t before = memory_stats().current;
    reset_peak_memory();
    tape.backward(loss);
    return memory_stats().peak - before;
  };
  const std::size_t size = 2 * 3 * 600 * 64 * sizeof(float);
  const std::size_t peak_alone = peak(false), peak_seen = peak(true);
  CHECK(peak_alone + size / 2 < peak_seen);
}

TEST_CASE("attention: a q of any strides that nobody else sees") {
  using View = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<Shape, View>> views{
      {{2, 3, 4, 300}, [](const Tensor& x) { return x.transpose(-1, -2); }},
      {{2, 3, 300, 8}, [](const Tensor& x) { return x.slice(-1, 0, 8, 2); }},
      {{2, 3, 600, 4}, [](const Tensor& x) { return x.slice(-2, 0, 600, 2); }},
      {{2, 3, 300, 4, 3}, [](const Tensor& x) { return x.select(-1, 1); }},
      {{4, 300, 3, 2},
       [](const Tensor& x) {
         return x.permute({3, 2, 1, 0});
       }},
      {{4, 300, 3, 2},
       [](const Tensor& x) {
         return x.permute({3, 2, 0, 1}).transpose(-1, -2);
       }},
      {{300, 2, 4, 3}, [](const Tensor& x) {
         return x.permute({1, 3, 0, 2});
       }}};
  for (const auto& [shape, view] : views) {
    CAPTURE(shape);
    auto fused_view = [&view = view](const std::vector<Tensor>& in) {
      return attention(view(in[0] * 0.5), in[1], in[2], Mask::causal(), 0.4);
    };
    auto steps = [&view = view](const std::vector<Tensor>& in) {
      return composed(view(in[0] * 0.5), in[1], in[2], Mask::causal(), 0.4);
    };
    check_same({away_from_zero(shape, 1), away_from_zero({2, 3, 150, 4}, 2), away_from_zero({2, 3, 150, 5}, 3)},
               fused_view, steps, 1e-11);
  }
}

TEST_CASE("attention: a q that repeats its elements is not written over") {
  auto expanded = [](const std::vector<Tensor>& in) {
    return attention((in[0] * 0.5).expand({2, 3, 7, 4}), in[1], in[2], Mask::none(), 0.4);
  };
  auto steps = [](const std::vector<Tensor>& in) {
    return composed((in[0] * 0.5).expand({2, 3, 7, 4}), in[1], in[2], Mask::none(), 0.4);
  };
  for (const Shape& shape : {Shape{1, 3, 7, 4}, Shape{2, 1, 7, 4}, Shape{2, 3, 1, 4}}) {
    check_same({away_from_zero(shape, 1), away_from_zero({2, 3, 6, 4}, 2), away_from_zero({2, 3, 6, 5}, 3)}, expanded,
               steps, 1e-12);
  }
}

TEST_CASE("attention: one text of keys, and the padding in it, serves all texts") {
  const Mask padding = Mask::padding(Ids({1, 5}, {0, 1, 0, 0, 1}));
  for (const Mask& mask : {padding, padding & Mask::causal()}) {
    for (const int64_t T : {1, 3, 70}) {
      for (const int64_t B : {0, 1, 4}) {
        CAPTURE(T, B);
        const Tensor q = away_from_zero({B, 2, T, 3}, 1);
        check_same({q, away_from_zero({1, 2, 5, 3}, 2), away_from_zero({1, 2, 5, 4}, 3)}, mask, 1e-12);
        check_same({q, away_from_zero({B, 2, 5, 3}, 2), away_from_zero({5, 4}, 3)}, mask, 1e-12);
      }
    }
    const std::vector<Tensor> few{away_from_zero({2, 2, 3, 2}, 4), away_from_zero({1, 2, 5, 2}, 5),
                                  away_from_zero({1, 2, 5, 2}, 6)};
    CHECK(gradcheck(fused(mask, 0.7), few).problem == "");
    CHECK(gradgradcheck(fused(mask, 0.7), few).problem == "");
  }
}

TEST_CASE("attention: nothing to see, nothing to say") {
  const std::vector<Tensor> inputs = by_heads(4, 4, 5, 3, DType::f64);
  const Ids all = some_hidden(2, 4);
  const auto hidden = results(fused(Mask::padding(all), 1), inputs);
  for (const Tensor& result : hidden) CHECK(all_finite(result));
  CHECK(hidden[0].select(0, 1).to_vector() == Values(3 * 4 * 3, 0.0));  // the second text is hidden as a whole
  CHECK(hidden[1].select(0, 1).to_vector() == Values(3 * 4 * 5, 0.0));
  const auto strict = results(fused(Mask::first(), 1), inputs);
  CHECK(strict[0].select(2, 0).to_vector() == Values(2 * 3 * 3, 0.0));  // the first query sees nothing

  const auto no_keys = results(fused(Mask::none(), 1), by_heads(4, 0, 5, 3, DType::f64));
  CHECK(no_keys[0].to_vector() == Values(2 * 3 * 4 * 3, 0.0));
  CHECK(no_keys[1].to_vector() == Values(2 * 3 * 4 * 5, 0.0));
  CHECK(results(fused(Mask::none(), 1), by_heads(0, 4, 5, 3, DType::f64))[2].to_vector() == Values(2 * 3 * 4 * 5, 0.0));
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

TEST_CASE("attention: of constants, nothing is kept for a backward pass") {
  auto peak_of = [](bool with_tape) {
    const std::vector<Tensor> inputs = by_heads(256, 256, 32, 32, DType::f32);
    const std::size_t before = memory_stats().current;
    reset_peak_memory();
    std::optional<Tape> tape;
    if (with_tape) tape.emplace();
    attention(inputs[0], inputs[1], inputs[2], Mask::none(), 1);
    return memory_stats().peak - before;
  };
  CHECK(peak_of(true) == peak_of(false));
}

TEST_CASE("attention: its memory does not grow with the square of the length") {
  auto peak_at = [](int64_t T) {
    std::vector<Tensor> inputs = by_heads(T, T, 8, 8, DType::f32);
    for (Tensor& x : inputs) x.set_requires_grad();
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
  CHECK_THROWS_WITH(run(q, k, zeros({3, 5, 6}), Mask::none(), 1)(),
                    "attention: q is (2, 3, 4), k is (2, 5, 4), v is (3, 5, 6); need the leading axes of q in k and v, "
                    "or 1 where its heads share them");
  CHECK_THROWS_AS(run(q, zeros({2, 5, 4}, DType::f64), v, Mask::none(), 1)(), Error);
  CHECK_THROWS_AS(run(q, k, v, Mask::none(), 0)(), Error);
  CHECK_THROWS_WITH(run(q, k, v, Mask::padding(Ids::zeros({2, 4})), 1)(),
                    "attention: the mask hides padding of (2, 4), q is (2, 3, 4), k is (2, 5, 4); need (B, S), or "
                    "(1, S) for all texts, for q (B, ..., T, D)");
  CHECK_THROWS_AS(run(q, k, v, Mask::padding(Ids::zeros({1, 4})), 1)(), Error);
  CHECK_THROWS_AS(run(q, k, v, Mask::padding(Ids::zeros({3, 5})), 1)(), Error);
  CHECK_THROWS_AS(run(zeros({3, 4}), zeros({5, 4}), zeros({5, 6}), Mask::padding(Ids::zeros({3, 5})), 1)(), Error);
}
