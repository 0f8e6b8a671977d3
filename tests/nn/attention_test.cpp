#include "nn/attention.h"

#include <cmath>

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

/// softmax(x xᵀ) x, one output at a time.
Values naive_self_attention(const Tensor& x) {
  const int64_t T = x.size(0), D = x.size(1);
  const Values values = x.to_vector();
  auto at = [&](int64_t t, int64_t d) { return values[static_cast<std::size_t>(t * D + d)]; };
  Values result;
  for (int64_t query = 0; query < T; ++query) {
    Values weights;
    double total = 0;
    for (int64_t key = 0; key < T; ++key) {
      double score = 0;
      for (int64_t d = 0; d < D; ++d) score += at(query, d) * at(key, d);
      weights.push_back(std::exp(score));
      total += weights.back();
    }
    for (int64_t d = 0; d < D; ++d) {
      double mean = 0;
      for (int64_t key = 0; key < T; ++key) mean += weights[static_cast<std::size_t>(key)] / total * at(key, d);
      result.push_back(mean);
    }
  }
  return result;
}

bool close(const Values& a, const Values& b, double margin = 1e-12) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= margin)) return false;
  }
  return true;
}

/// Rows 2, 0, 3, 1 of the time axis of x (..., 4, D).
Tensor shuffled(const Tensor& x) {
  std::vector<Tensor> rows;
  for (int64_t t : {2, 0, 3, 1}) rows.push_back(x.select(-2, t));
  return stack(rows, -2);
}

Tensor identity(int64_t n) { return triu(tril(ones({n, n}, DType::f64))); }

}  // namespace

TEST_CASE("attention: without parameters it agrees with a naive loop") {
  const Tensor x = normal({5, 3}, 1);
  CHECK(close(basic_self_attention(x).to_vector(), naive_self_attention(x)));

  const Tensor batch = normal({2, 5, 3}, 2);
  const Tensor y = basic_self_attention(batch);
  CHECK(y.shape() == Shape{2, 5, 3});
  CHECK(close(y.select(0, 1).to_vector(), naive_self_attention(batch.select(0, 1))));
}

TEST_CASE("attention: rows of weights sum to 1, and hidden keys have none") {
  const Tensor queries = normal({4, 3}, 3), keys = normal({4, 3}, 4);
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    const Tensor weights = dot_product_attention(queries, keys, identity(4), mask, 1);
    const Values values = weights.to_vector(), hidden = [&] {
      const Ids ids = mask.hidden(4, 4);
      return Values(ids.values().begin(), ids.values().end());
    }();
    for (std::size_t i = 0; i < values.size(); ++i) CHECK((hidden[i] != 0 ? values[i] == 0 : values[i] > 0));
    for (double total : sum(weights, {1}).to_vector()) CHECK(total == Approx(1).epsilon(1e-14));
  }
}

TEST_CASE("attention: more keys than queries, and values of another width") {
  const Tensor queries = normal({2, 3, 4}, 5), keys = normal({2, 5, 4}, 6), values = normal({2, 5, 6}, 7);
  const Tensor y = dot_product_attention(queries, keys, values, Mask::causal(), 0.5);
  CHECK(y.shape() == Shape{2, 3, 6});
  // The last query sees all keys.
  const Tensor all = dot_product_attention(queries, keys, values, Mask::none(), 0.5);
  CHECK(close(y.select(1, 2).to_vector(), all.select(1, 2).to_vector()));
  CHECK_FALSE(close(y.select(1, 1).to_vector(), all.select(1, 1).to_vector()));
}

TEST_CASE("attention: 1/sqrt(k) on the scores is its fourth root on queries and on keys") {
  const Tensor queries = normal({2, 4, 9}, 8), keys = normal({2, 4, 9}, 9), values = normal({2, 4, 9}, 10);
  const double root = std::pow(9, -0.25);
  const Tensor once = dot_product_attention(queries, keys, values, Mask::causal(), 1.0 / 3);
  const Tensor twice = dot_product_attention(queries * root, keys * root, values, Mask::causal(), 1);
  CHECK(close(once.to_vector(), twice.to_vector()));
}

TEST_CASE("attention: gradients of queries, keys and values under each mask") {
  const std::vector<Tensor> inputs{normal({2, 3, 2}, 11), normal({2, 3, 2}, 12), normal({2, 3, 4}, 13)};
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first()}) {
    auto attend = [&](const auto& x) { return dot_product_attention(x[0], x[1], x[2], mask, 0.7); };
    CHECK(gradcheck(attend, inputs).problem == "");
  }
}

TEST_CASE("attention: who sees nothing yields zeros and moves nothing") {
  const std::vector<Tensor> inputs{normal({3, 2}, 14), normal({3, 2}, 15), normal({3, 2}, 16)};
  auto attend = [](const std::vector<Tensor>& x) { return dot_product_attention(x[0], x[1], x[2], Mask::first(), 1); };
  CHECK(attend(inputs).select(0, 0).to_vector() == Values{0, 0});

  const auto of_first = gradients_of([&](const auto& x) { return attend(x).select(0, 0); }, inputs);
  for (const Tensor& gradient : of_first) CHECK(gradient.to_vector() == Values(6, 0));
  const auto of_all = gradients_of([&](const auto& x) { return attend(x) * attend(x); }, inputs);
  for (const Tensor& gradient : of_all) CHECK(all_finite(gradient));
  CHECK(of_all[0].select(0, 0).to_vector() == Values{0, 0});
  CHECK(of_all[2].select(0, 2).to_vector() == Values{0, 0});  // nobody sees the last value
}

TEST_CASE("attention: one wide head with nothing to unify is single-head attention") {
  manual_seed(11);
  const SingleHeadAttention single(3, DType::f64);
  WideAttention wide(3, 1, DType::f64);
  CHECK(names(single) == std::vector<std::string>{"tokeys.weight", "toqueries.weight", "tovalues.weight"});
  CHECK(names(wide) == std::vector<std::string>{"tokeys.weight", "toqueries.weight", "tovalues.weight",
                                                "unifyheads.weight", "unifyheads.bias"});
  StateDict state = single.state_dict();
  state.emplace_back("unifyheads.weight", identity(3));
  state.emplace_back("unifyheads.bias", zeros({3}, DType::f64));
  wide.load_state_dict(state);
  const Tensor x = normal({2, 4, 3}, 17);
  CHECK(close(wide(x, Mask::causal()).to_vector(), single(x, Mask::causal()).to_vector()));
  CHECK(close(single(x.select(0, 1), Mask::causal()).to_vector(),
              single(x, Mask::causal()).select(0, 1).to_vector()));  // unbatched
}

TEST_CASE("attention: each wide head works on its own") {
  manual_seed(12);
  const int64_t D = 3, H = 2;
  const WideAttention wide(D, H, DType::f64);
  const Tensor x = normal({2, 4, D}, 18);
  Tensor expected = wide.unifyheads.bias;
  for (int64_t h = 0; h < H; ++h) {
    auto head = [&](const Linear& all) { return linear(x, all.weight.slice(0, h * D, (h + 1) * D)); };
    const Tensor attended = dot_product_attention(head(wide.toqueries), head(wide.tokeys), head(wide.tovalues),
                                                  Mask::causal(), 1 / std::sqrt(3.0));
    expected = expected + linear(attended, wide.unifyheads.weight.slice(1, h * D, (h + 1) * D));
  }
  CHECK(close(wide(x, Mask::causal()).to_vector(), expected.to_vector()));
}

TEST_CASE("attention: without a mask, shuffling the input shuffles the output") {
  manual_seed(13);
  const WideAttention wide(3, 2, DType::f64);
  const Tensor x = normal({2, 4, 3}, 19);
  CHECK(close(wide(shuffled(x), Mask::none()).to_vector(), shuffled(wide(x, Mask::none())).to_vector()));
  CHECK_FALSE(
      close(wide(shuffled(x), Mask::causal()).to_vector(), shuffled(wide(x, Mask::causal())).to_vector(), 1e-3));
}

TEST_CASE("attention: under a causal mask the future changes no bit") {
  manual_seed(14);
  const WideAttention wide(8, 2);
  const Tensor x = normal({2, 6, 8}, 20, DType::f32), changed = clone(x);
  for (float* v = changed.data<float>() + 3 * 8; v != changed.data<float>() + 6 * 8; ++v) *v = -*v;
  const Tensor y = wide(x, Mask::causal()), z = wide(changed, Mask::causal());
  CHECK(same_bits(y.select(0, 0).slice(0, 0, 3), z.select(0, 0).slice(0, 0, 3)));
  CHECK_FALSE(same_bits(y.select(0, 0).slice(0, 3, 4), z.select(0, 0).slice(0, 3, 4)));
  CHECK(same_bits(y.select(0, 1), z.select(0, 1)));
}

TEST_CASE("attention: gradients of the modules' parameters") {
  manual_seed(15);
  const Tensor x = normal({2, 3, 2}, 21);
  const SingleHeadAttention single(2, DType::f64);
  CHECK(check_parameters(single, [&] { return single(x, Mask::causal()); }).problem == "");
  const WideAttention wide(2, 2, DType::f64);
  CHECK(check_parameters(wide, [&] { return wide(x, Mask::first()); }).problem == "");
  CHECK(gradcheck([&](const auto& in) { return wide(in[0], Mask::none()); }, {x}).problem == "");
}
