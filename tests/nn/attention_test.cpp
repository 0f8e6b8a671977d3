#include "nn/attention.h"

#include <cmath>
#include <string>

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

/// softmax(x xᵀ) x, one output at a time.
Tensor naive_self_attention(const Tensor& x) {
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
  return f64(x.shape(), result);
}

Tensor identity(int64_t n) { return triu(tril(ones({n, n}, DType::f64))); }

}  // namespace

TEST_CASE("attention: without parameters it agrees with a naive loop") {
  const Tensor x = normal({5, 3}, 1);
  CHECK(close(basic_self_attention(x), naive_self_attention(x)));

  const Tensor batch = normal({2, 5, 3}, 2);
  const Tensor y = basic_self_attention(batch);
  CHECK(y.shape() == Shape{2, 5, 3});
  CHECK(close(y.select(0, 1), naive_self_attention(batch.select(0, 1))));
}

TEST_CASE("attention: heads must divide the width") {
  const Tensor x = ones({2, 3, 6});
  CHECK(merge_heads(split_heads(x, 3)).shape() == x.shape());
  for (const int64_t heads : {0, -1, 4}) {
    CHECK_THROWS_WITH(split_heads(x, heads), ContainsSubstring("split_heads: x is (2, 3, 6), heads are " +
                                                               std::to_string(heads) + "; need (..., T, heads D)"));
  }
  CHECK_THROWS_WITH(split_heads(ones({6}), 3), ContainsSubstring("split_heads: x is (6,)"));
  CHECK_THROWS_WITH(merge_heads(ones({2, 6})), ContainsSubstring("merge_heads: x is (2, 6); need (..., H, T, D)"));
}

TEST_CASE("attention: rows of weights sum to 1, and hidden keys have none") {
  const Tensor queries = normal({4, 3}, 3), keys = normal({4, 3}, 4);
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    const Tensor weights = attention_weights(queries, keys, mask);
    CHECK(close(dot_product_attention(queries, keys, identity(4), mask), weights));
    const Values values = weights.to_vector(), hidden = [&] {
      const Ids ids = mask.hidden_in_time(4, 4);
      return Values(ids.values().begin(), ids.values().end());
    }();
    for (std::size_t i = 0; i < values.size(); ++i) CHECK((hidden[i] != 0 ? values[i] == 0 : values[i] > 0));
    for (double total : sum(weights, {1}).to_vector()) CHECK(total == Approx(1).epsilon(1e-14));
  }
}

TEST_CASE("attention: more keys than queries, and values of another width") {
  const Tensor queries = normal({2, 3, 4}, 5), keys = normal({2, 5, 4}, 6), values = normal({2, 5, 6}, 7);
  const Tensor y = dot_product_attention(queries, keys, values, Mask::causal());
  CHECK(y.shape() == Shape{2, 3, 6});
  // The last query sees all keys.
  const Tensor all = dot_product_attention(queries, keys, values, Mask::none());
  CHECK(close(y.select(1, 2), all.select(1, 2)));
  CHECK_FALSE(close(y.select(1, 1), all.select(1, 1)));
}

TEST_CASE("attention: what does not fit is refused for one query as for many, whatever is dropped") {
  const Tensor keys = normal({2, 5, 4}, 6), values = normal({2, 5, 6}, 7);
  for (const int64_t T : {1, 3}) {
    for (const double drop : {0.0, 1.0}) {
      auto attend = [&](const Shape& queries, const Tensor& k, const Tensor& v, const Mask& mask) {
        return dot_product_attention(normal(queries, 5), k, v, mask, drop);
      };
      CHECK_THROWS_WITH(attend({1, T, 4}, keys, values, Mask::none()), ContainsSubstring("need the leading axes of q"));
      CHECK_THROWS_WITH(attend({T, 4}, keys, values, Mask::none()), ContainsSubstring("need the leading axes of q"));
      CHECK_THROWS_WITH(attend({2, T, 4}, keys, normal({3, 2, 5, 6}, 8), Mask::none()),
                        ContainsSubstring("need the leading axes of q"));
      CHECK_THROWS_WITH(attend({2, T, 3}, keys, values, Mask::none()), ContainsSubstring("need (..., T, D)"));
      for (const Shape& padding : {Shape{3, 5}, Shape{2, 4}, Shape{2, 1}, Shape{1, 4}}) {
        CHECK_THROWS_WITH(attend({2, T, 4}, keys, values, Mask::padding(Ids::zeros(padding))),
                          ContainsSubstring(text("the mask hides padding of ", padding)));
      }
    }
  }
}

TEST_CASE("attention: 1/sqrt(k) on the scores is its fourth root on queries and on keys") {
  const Tensor queries = normal({2, 4, 9}, 8), keys = normal({2, 4, 9}, 9);
  const double root = std::pow(9, -0.25);
  const Tensor scores = matmul(queries * root, (keys * root).transpose(-1, -2));
  CHECK(close(attention_weights(queries, keys, Mask::causal()), softmax(Mask::causal().apply(scores), -1)));
}

TEST_CASE("attention: gradients of queries, keys and values under each mask") {
  const std::vector<Tensor> inputs{normal({2, 3, 2}, 11), normal({2, 3, 2}, 12), normal({2, 3, 4}, 13)};
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first()}) {
    auto attend = [&](const auto& x) { return dot_product_attention(x[0], x[1], x[2], mask); };
    CHECK(gradcheck(attend, inputs).problem == "");
  }
}

TEST_CASE("attention: who sees nothing yields zeros and moves nothing") {
  const std::vector<Tensor> inputs{normal({3, 2}, 14), normal({3, 2}, 15), normal({3, 2}, 16)};
  auto attend = [](const std::vector<Tensor>& x) { return dot_product_attention(x[0], x[1], x[2], Mask::first()); };
  CHECK(attend(inputs).select(0, 0).to_vector() == Values{0, 0});

  const auto of_first = gradients_of([&](const auto& x) { return attend(x).select(0, 0); }, inputs);
  for (const Tensor& gradient : of_first) CHECK(gradient.to_vector() == Values(6, 0));
  const auto of_all = gradients_of([&](const auto& x) { return attend(x) * attend(x); }, inputs);
  for (const Tensor& gradient : of_all) CHECK(all_finite(gradient));
  CHECK(of_all[0].select(0, 0).to_vector() == Values{0, 0});
  CHECK(of_all[2].select(0, 2).to_vector() == Values{0, 0});  // nobody sees the last value
}

TEST_CASE("attention: hidden keys are as good as absent, whatever they hold") {
  const Tensor queries = normal({2, 3, 4}, 22), keys = normal({2, 5, 4}, 23), values = normal({2, 5, 2}, 24);
  const Mask mask = Mask::padding(Ids({2, 5}, {0, 0, 0, 1, 1,  //
                                               0, 1, 0, 1, 0}));
  const Tensor y = dot_product_attention(queries, keys, values, mask);
  auto without = [&](int64_t b, const std::vector<int64_t>& seen) {
    return dot_product_attention(queries.select(0, b), rows(keys.select(0, b), 0, seen),
                                 rows(values.select(0, b), 0, seen), Mask::none());
  };
  CHECK(close(y.select(0, 0), without(0, {0, 1, 2})));
  CHECK(close(y.select(0, 1), without(1, {0, 2, 4})));

  const Tensor changed_keys = clone(keys), changed_values = clone(values);
  for (const auto& [b, s] : {std::pair{0, 3}, {0, 4}, {1, 1}, {1, 3}}) {
    overwrite_row(changed_keys.select(0, b), s);
    overwrite_row(changed_values.select(0, b), s);
  }
  CHECK(same_bits(dot_product_attention(queries, changed_keys, changed_values, mask), y));
  CHECK_FALSE(same_bits(dot_product_attention(queries, changed_keys, changed_values, Mask::none()), y));
}

TEST_CASE("attention: gradients under padding, in time or not, and none to the padding") {
  const Ids hidden({2, 3}, {0, 0, 1, 1, 0, 0});
  const std::vector<Tensor> inputs{normal({2, 3, 2}, 25), normal({2, 3, 2}, 26), normal({2, 3, 4}, 27)};
  for (const Mask& mask : {Mask::padding(hidden), Mask::padding(hidden) & Mask::causal()}) {
    auto attend = [&](const auto& x) { return dot_product_attention(x[0], x[1], x[2], mask); };
    CHECK(gradcheck(attend, inputs).problem == "");
    const auto gradients = gradients_of([&](const auto& x) { return attend(x) * attend(x); }, inputs);
    for (std::size_t i : {1u, 2u}) {  // keys and values
      CHECK(sum(abs(gradients[i].select(0, 0).select(0, 2))).item() == 0);
      CHECK(sum(abs(gradients[i].select(0, 1).select(0, 0))).item() == 0);
      CHECK(sum(abs(gradients[i].select(0, 0).select(0, 0))).item() > 0);
    }
  }
}

TEST_CASE("attention: a text of nothing but padding yields zeros and zero gradients") {
  const std::vector<Tensor> inputs{normal({2, 3, 2}, 28), normal({2, 3, 2}, 29), normal({2, 3, 2}, 30)};
  auto attend = [](const std::vector<Tensor>& x) {
    return dot_product_attention(x[0], x[1], x[2], Mask::padding(Ids({2, 3}, {1, 1, 1, 0, 0, 0})));
  };
  CHECK(attend(inputs).select(0, 0).to_vector() == Values(6, 0));
  for (const Tensor& gradient : gradients_of([&](const auto& x) { return attend(x) * attend(x); }, inputs)) {
    CHECK(gradient.select(0, 0).to_vector() == Values(6, 0));
    CHECK(sum(abs(gradient.select(0, 1))).item() > 0);
    CHECK(all_finite(gradient));
  }
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
  CHECK(close(wide(x, Mask::causal()), single(x, Mask::causal())));
  CHECK(close(single(x.select(0, 1), Mask::causal()), single(x, Mask::causal()).select(0, 1)));  // unbatched
}

TEST_CASE("attention: a single head's output is the mean of its values under its maps") {
  manual_seed(16);
  const SingleHeadAttention single(3, DType::f64);
  const Tensor x = normal({2, 4, 3}, 32), maps = single.attention_maps(x, Mask::causal());
  CHECK(maps.shape() == Shape{2, 4, 4});
  CHECK(close(matmul(maps, single.tovalues(x)), single(x, Mask::causal())));
}

TEST_CASE("attention: each wide head works on its own") {
  manual_seed(12);
  const int64_t D = 3, H = 2;
  const WideAttention wide(D, H, DType::f64);
  const Tensor x = normal({2, 4, D}, 18);
  Tensor expected = wide.unifyheads.bias;
  for (int64_t h = 0; h < H; ++h) {
    auto head = [&](const Linear& all) { return linear(x, all.weight.slice(0, h * D, (h + 1) * D)); };
    const Tensor attended =
        dot_product_attention(head(wide.toqueries), head(wide.tokeys), head(wide.tovalues), Mask::causal());
    expected = expected + linear(attended, wide.unifyheads.weight.slice(1, h * D, (h + 1) * D));
  }
  CHECK(close(wide(x, Mask::causal()), expected));
}

TEST_CASE("attention: without a mask, shuffling the input shuffles the output") {
  manual_seed(13);
  const WideAttention wide(3, 2, DType::f64);
  const Tensor x = normal({2, 4, 3}, 19);
  const std::vector<int64_t> order{2, 0, 3, 1};
  CHECK(close(wide(rows(x, 1, order), Mask::none()), rows(wide(x, Mask::none()), 1, order)));
  CHECK_FALSE(close(wide(rows(x, 1, order), Mask::causal()), rows(wide(x, Mask::causal()), 1, order), 1e-3));
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

TEST_CASE("attention: to what was kept of the past is attention to all of it") {
  manual_seed(48);
  const WideAttention wide(6, 2, DType::f64);
  const Tensor x = normal({2, 7, 6}, 31);
  for (const Mask& mask : {Mask::causal(), Mask::first()}) {
    const Tensor all = wide(x, mask);
    for (const std::vector<int64_t>& ends : {std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7}, {4, 7}, {3, 4, 7}, {7}}) {
      WideAttention::Past past;
      for (int64_t end : ends) {
        const int64_t start = past.seen.length();
        CHECK(close(wide(x.slice(1, start, end), mask, &past), all.slice(1, start, end)));
        CHECK(past.seen.length() == end);
      }
    }
  }
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

TEST_CASE("attention: there is no attention without heads") {
  CHECK_THROWS_WITH(WideAttention(4, 0), ContainsSubstring("WideAttention: 0 heads; need at least 1"));
  CHECK_THROWS_WITH(WideAttention(4, -1), ContainsSubstring("WideAttention: -1 heads; need at least 1"));
  for (const Shape& shape : {Shape{3, 4}, Shape{2, 3, 5}, Shape{4}}) {
    CHECK_THROWS_WITH(WideAttention(4, 2)(zeros(shape), Mask::none()),
                      ContainsSubstring(text("WideAttention: x is ", shape, "; need (B, T, 4)")));
  }
}

TEST_CASE("attention: merged projections of a wide layer are the projections one after another") {
  manual_seed(31);
  WideAttention attention(4, 3, DType::f64);
  const Tensor x = normal({2, 9, 4}, 1);  // 18 tokens of width 4: merged
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::first()}) {
    auto by_head = [](const Tensor& all) { return all.view({2, 9, 3, 4}).transpose(1, 2); };
    const Tensor apart = dot_product_attention(by_head(attention.toqueries(x)), by_head(attention.tokeys(x)),
                                               by_head(attention.tovalues(x)), mask);
    CHECK(close(attention(x, mask), attention.unifyheads(apart.transpose(1, 2).reshape({2, 9, 12})), 1e-12));
  }
  // One text of four tokens is not worth merging.
  const Tensor few = x.slice(0, 0, 1).slice(1, 0, 4);
  CHECK(close(attention(few, Mask::causal()), attention(x, Mask::causal()).slice(0, 0, 1).slice(1, 0, 4), 1e-12));
}
