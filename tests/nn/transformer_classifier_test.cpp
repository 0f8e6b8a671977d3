#include "nn/transformer_classifier.h"

#include <limits>

#include "nn/positions.h"
#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

constexpr std::int32_t pad = 0;

TransformerClassifier::Config small(Pooling pooling, DType dtype = DType::f64) {
  return {.vocabulary = 7,
          .classes = 3,
          .length = 6,
          .embedding = 4,
          .heads = 2,
          .depth = 2,
          .pooling = pooling,
          .block = {.dtype = dtype}};
}

TransformerClassifier::Config padding_aware(Pooling pooling, DType dtype = DType::f64) {
  TransformerClassifier::Config config = small(pooling, dtype);
  config.padding = pad;
  return config;
}

/// tokens (B, T) with `more` pad tokens after each text.
Ids padded(const Ids& tokens, int64_t more) {
  const int64_t B = tokens.size(0), T = tokens.size(1);
  Ids result = Ids::zeros({B, T + more});
  for (int64_t b = 0; b < B; ++b) {
    std::copy_n(tokens.data() + b * T, T, result.data() + b * (T + more));
    std::fill_n(result.data() + b * (T + more) + T, more, pad);
  }
  return result;
}

const std::vector<Pooling> poolings{Pooling::max, Pooling::mean};

}  // namespace

TEST_CASE("pool: over what is not hidden") {
  const Tensor x = f64({2, 3, 2}, {1, 2, 3, 4, 9, -9,  //
                                   5, 6, 7, 8, -1, 1});
  const Ids none = Ids::zeros({2, 3}), last({2, 3}, {0, 0, 1, 0, 0, 0});
  CHECK(close(pool(Pooling::mean, x, none), f64({2, 2}, {13.0 / 3, -1, 11.0 / 3, 5})));
  CHECK(pool(Pooling::max, x, none).to_vector() == Values{9, 4, 7, 8});
  CHECK(close(pool(Pooling::mean, x, last), f64({2, 2}, {2, 3, 11.0 / 3, 5})));
  CHECK(pool(Pooling::max, x, last).to_vector() == Values{3, 4, 7, 8});
  CHECK(pool(Pooling::max, x * -1.0, last).to_vector() == Values{-1, -2, 1, -1});  // below zero too

  const double lowest = -std::numeric_limits<double>::infinity();
  const Tensor low = f64({1, 2, 2}, {lowest, 1, lowest, 2});
  auto pooled = [](const auto& in) { return pool(Pooling::max, in[0], Ids::zeros({1, 2})); };
  CHECK(pooled(std::vector{low}).to_vector() == Values{lowest, 2});
  CHECK(gradients_of(pooled, {low})[0].to_vector() == Values{1, 0, 0, 1});
}

TEST_CASE("pool: a text without any place yields zeros and zero gradients") {
  const Ids first_text({2, 2}, {1, 1, 0, 0});
  for (Pooling pooling : poolings) {
    auto pooled = [&](const Tensor& x) { return pool(pooling, x, first_text); };
    const Tensor x = normal({2, 2, 3}, 1);
    CHECK(pooled(x).select(0, 0).to_vector() == Values(3, 0));
    const Tensor dx = gradients_of([&](const auto& in) { return pooled(in[0]); }, {x})[0];
    CHECK(dx.select(0, 0).to_vector() == Values(6, 0));
    CHECK(sum(dx.select(0, 1)).item() == Approx(3));
    CHECK(pool(pooling, zeros({2, 0, 3}), Ids::zeros({2, 0})).to_vector() == Values(6, 0));
    CHECK(pool(pooling, zeros({0, 2, 3}), Ids::zeros({0, 2})).shape() == Shape{0, 3});
  }
}

TEST_CASE("pool: gradients") {
  const Tensor x = normal({2, 4, 3}, 2);
  for (const Ids& hidden : {Ids::zeros({2, 4}), Ids({2, 4}, {0, 0, 1, 1, 0, 1, 0, 0})}) {
    for (Pooling pooling : poolings) {
      CHECK(gradcheck([&](const auto& in) { return pool(pooling, in[0], hidden); }, {x}).problem == "");
    }
  }
}

TEST_CASE("classifiers: names and shapes") {
  manual_seed(90);
  const CTransformer model(small(Pooling::max));
  const std::vector<std::string> all = names(model);
  REQUIRE(all.size() == 2 + 2 * 13 + 2);
  CHECK(all[0] == "token_embedding.weight");
  CHECK(all[1] == "pos_embedding.weight");
  CHECK(all[2] == "tblocks.0.attention.tokeys.weight");
  CHECK(all.back() == "toprobs.bias");
  CHECK(names(TextClassificationTransformer(small(Pooling::max))) == all);
  CHECK(model(random_ids({5, 4}, 7, 1)).shape() == Shape{5, 3});
}

TEST_CASE("classifiers: one yields log-probabilities, the other logits of the mean") {
  manual_seed(91);
  const CTransformer model(small(Pooling::mean));
  const Ids tokens = random_ids({5, 6}, 7, 2);
  for (double total : sum(exp(model(tokens)), {1}).to_vector()) CHECK(total == Approx(1));
  CHECK(same_bits(model(tokens), log_softmax(model.logits(tokens), -1)));

  TextClassificationTransformer other(small(Pooling::max));
  CHECK(other.config().pooling == Pooling::mean);
  other.load_state_dict(model.state_dict());
  CHECK(same_bits(other(tokens), model.logits(tokens)));
  CHECK(same_bits(other.log_probs(tokens), model(tokens)));
}

TEST_CASE("classifiers: embeddings are added up, then pooled") {
  manual_seed(92);
  TransformerClassifier::Config config = small(Pooling::max);
  config.depth = 0;
  const CTransformer model(config);
  const Tensor x = model.token_embedding.weight.slice(0, 2, 4) + model.pos_embedding.weight.slice(0, 0, 2);
  CHECK(close(model.logits(Ids({1, 2}, {2, 3})).select(0, 0), model.toprobs(max(x, 0).values)));
}

TEST_CASE("classifiers: gradients of every parameter") {
  manual_seed(93);
  const Ids tokens({2, 4}, {1, 2, 3, 4, 5, 1, pad, pad});
  for (Pooling pooling : poolings) {
    TransformerClassifier::Config config = small(pooling);
    config.embedding = 2;
    config.block.hidden = 3;
    const CTransformer published(config);
    CHECK(check_parameters(published, [&] { return published(tokens); }).problem == "");
    config.padding = pad;
    config.block.norm = Norm::pre;
    config.block.activation = Activation::gelu;
    const CTransformer aware(config);
    CHECK(check_parameters(aware, [&] { return aware(tokens); }).problem == "");
  }
}

TEST_CASE("classifiers: aware of padding, a text is the same padded or not") {
  manual_seed(94);
  const Ids tokens({2, 3}, {1, 2, 3, 4, 5, 6});
  for (Pooling pooling : poolings) {
    const CTransformer aware(padding_aware(pooling)), published(small(pooling));
    CHECK(close(aware(padded(tokens, 1)), aware(tokens)));
    CHECK(close(aware(padded(tokens, 3)), aware(tokens)));
    CHECK_FALSE(close(published(padded(tokens, 1)), published(tokens), 1e-3));
  }
}

TEST_CASE("classifiers: aware of padding, what a pad token holds changes no bit") {
  manual_seed(95);
  const Ids tokens({2, 4}, {1, 2, pad, pad, 4, 5, 6, pad});
  for (Pooling pooling : poolings) {
    const CTransformer model(padding_aware(pooling));
    const Tensor before = model(tokens);
    overwrite_row(model.token_embedding.weight, pad);
    CHECK(same_bits(model(tokens), before));
    overwrite_row(model.token_embedding.weight, 4);
    CHECK_FALSE(same_bits(model(tokens), before));
  }
}

TEST_CASE("classifiers: without positions the order of the words does not matter") {
  manual_seed(96);
  const Ids tokens({1, 5}, {1, 2, 3, 4, 5}), shuffled({1, 5}, {4, 1, 5, 3, 2});
  for (Pooling pooling : poolings) {
    const CTransformer model(small(pooling));
    CHECK_FALSE(close(model(tokens), model(shuffled), 1e-3));
    copy(zeros(model.pos_embedding.weight.shape(), DType::f64), model.pos_embedding.weight);
    CHECK(close(model(tokens), model(shuffled)));
  }
}

TEST_CASE("classifiers: a text of nothing but padding, or of nothing at all, is no reason to fail") {
  manual_seed(97);
  for (Pooling pooling : poolings) {
    const CTransformer model(padding_aware(pooling));
    const Tensor bias = log_softmax(model.toprobs.bias, 0);
    CHECK(close(model(Ids({2, 2}, {pad, pad, 1, 2})).select(0, 0), bias));
    CHECK(close(model(Ids::zeros({2, 0})), bias.expand({2, 3})));
    CHECK(model(Ids::zeros({0, 4})).shape() == Shape{0, 3});
    CHECK(CTransformer(small(pooling))(Ids::zeros({2, 0})).shape() == Shape{2, 3});
    Tape tape;
    tape.backward(sum(model(Ids::zeros({2, 0})).select(1, 0)));
    CHECK(all_finite(model.toprobs.bias.grad()));
  }
}

TEST_CASE("classifiers: every parameter gets a gradient") {
  manual_seed(98);
  const Ids tokens({3, 6}, {1, 2, 3, 4, 5, 6, 2, 4, 6, 1, pad, pad, 3, pad, pad, pad, pad, pad}), labels({0, 2, 1});
  for (const TransformerClassifier::Config& config : {small(Pooling::max), padding_aware(Pooling::mean)}) {
    const CTransformer model(config);
    check_every_parameter_gets_a_gradient(model, [&] { return nll_loss(model(tokens), labels); });
  }
}

TEST_CASE("classifiers: drop in training only") {
  manual_seed(99);
  const Ids tokens = random_ids({2, 6}, 7, 3);
  TransformerClassifier::Config config = small(Pooling::max, DType::f32);
  config.block.dropout = 0.3;
  CTransformer model(config);
  check_drops_in_training_only(model, [&] { return model(tokens); });

  config.depth = 0;
  config.block.dropout = 1;  // of the embeddings
  const CTransformer nothing(config);
  CHECK(close(nothing.logits(tokens), nothing.toprobs.bias.expand({2, 3})));
}

TEST_CASE("classifiers: learn random texts by heart") {
  const Ids tokens = random_ids({32, 8}, 20, 4), labels = random_ids({32}, 3, 5);
  for (Pooling pooling : poolings) {
    manual_seed(100);
    TransformerClassifier::Config config = padding_aware(pooling, DType::f32);
    config.vocabulary = 20;
    config.length = 8;
    config.embedding = 16;
    const CTransformer model(config);
    CHECK(learn(
              model, [&] { return nll_loss(model(tokens), labels); }, 150) <= 0.05);
  }
  const TextClassificationTransformer model(
      {.vocabulary = 20, .classes = 3, .length = 8, .embedding = 16, .heads = 2, .depth = 1});
  CHECK(learn(
            model, [&] { return cross_entropy(model(tokens), labels); }, 150) <= 0.05);
}

TEST_CASE("classifiers: train to the same bits on any number of threads") {
  const Ids tokens = random_ids({16, 32}, 600, 6), labels = random_ids({16}, 3, 7);
  for (Pooling pooling : poolings) {
    auto make = [&] {
      return std::make_unique<CTransformer>(TransformerClassifier::Config{.vocabulary = 600,
                                                                          .classes = 3,
                                                                          .length = 32,
                                                                          .embedding = 64,
                                                                          .heads = 2,
                                                                          .depth = 2,
                                                                          .pooling = pooling,
                                                                          .padding = pad,
                                                                          .block = {.dropout = 0.1}});
    };
    check_same_bits_on_any_number_of_threads(
        make, [&](const CTransformer& model) { return nll_loss(model(tokens), labels); });
  }
}

TEST_CASE("classifiers: memory does not grow over steps") {
  manual_seed(101);
  const Ids tokens = random_ids({4, 6}, 7, 8), labels = random_ids({4}, 3, 9);
  const CTransformer model(padding_aware(Pooling::max, DType::f32));
  check_memory_does_not_grow(model, [&] { return nll_loss(model(tokens), labels); });
}

TEST_CASE("classifiers: refuse what they cannot read") {
  const CTransformer model(small(Pooling::max));
  CHECK_THROWS_WITH(model(Ids::zeros({1, 7})), ContainsSubstring("a text of 7 tokens is longer than the model's 6"));
  CHECK_THROWS_WITH(model(Ids::zeros({6})), ContainsSubstring("need (batch, time)"));
  CHECK_THROWS_AS(model(Ids({1, 2}, {0, 7})), Error);
  CHECK_THROWS_AS(model(Ids({1, 2}, {0, -1})), Error);
  for (const Pooling pooling : {Pooling::mean, Pooling::max}) {
    CHECK_THROWS_WITH(pool(pooling, normal({2, 3, 4}, 3), Ids::zeros({2, 4})),
                      ContainsSubstring("pool: x is (2, 3, 4), padding is (2, 4); need (B, T, D) and (B, T)"));
    CHECK_THROWS_WITH(pool(pooling, normal({2, 3}, 3), Ids::zeros({2, 3})), ContainsSubstring("pool: x is (2, 3)"));
  }
}

TEST_CASE("classifier: embeddings start with the deviation that is asked for") {
  manual_seed(140);
  const CTransformer model({.vocabulary = 300, .length = 20, .embedding = 16, .embedding_deviation = 0.05, .depth = 1});
  for (const Embedding& table : {model.token_embedding, model.pos_embedding}) {
    CHECK(std::sqrt(var(table.weight.reshape({-1}), {0}).item()) == Approx(0.05).epsilon(0.1));
  }
}

TEST_CASE("classifier: positions may start as waves, and learn from there") {
  const CTransformer model({.vocabulary = 30, .length = 20, .embedding = 16, .sinusoidal_start = true, .depth = 1});
  CHECK(same_bits(model.pos_embedding.weight, sinusoidal_positions(20, 16)));
  Tape tape;
  tape.backward(sum(model(Ids({1, 3}, {1, 2, 3})).select(1, 0)));
  CHECK(sum(abs(model.pos_embedding.weight.grad())).item() > 0);
}
