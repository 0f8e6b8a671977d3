// What every language model has to keep, tried with all of them.

#include "nn/language_model.h"

#include <memory>

#include "nn/conv_model.h"
#include "nn/gtransformer.h"
#include "nn/markov_model.h"
#include "nn/naive_transformer.h"
#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

struct Size {
  int64_t vocabulary, context, embedding;
  double dropout = 0;
};

using Models = std::vector<std::pair<const char*, std::unique_ptr<LanguageModel>>>;

Models neural_models(const Size& s) {
  Models models;
  models.emplace_back("GTransformer", std::make_unique<GTransformer>(
                                          GTransformer::Config{s.vocabulary, s.context, s.embedding, 2, 2, s.dropout}));
  models.emplace_back("NaiveTransformer", std::make_unique<NaiveTransformer>(NaiveTransformer::Config{
                                              s.vocabulary, s.context, s.embedding, 2, s.dropout}));
  models.emplace_back("ConvModel", std::make_unique<ConvModel>(
                                       ConvModel::Config{s.vocabulary, s.context, s.embedding, 3, 3, s.dropout}));
  return models;
}

Models all_models(const Size& s) {
  Models models = neural_models(s);
  models.emplace_back("MarkovModel", std::make_unique<MarkovModel>(random_ids({500}, s.vocabulary, 1).values(),
                                                                   MarkovModel::Config{s.vocabulary, s.context, 3}));
  return models;
}

/// Texts and what comes next in them: (B, T) each.
struct Batch {
  Ids tokens, next;
};

/// Random texts; each starts with a token of its own, so that what comes next can be known.
Batch random_texts(int64_t B, int64_t T, int64_t vocabulary) {
  Batch batch{random_ids({B, T}, vocabulary, 2), random_ids({B, T}, vocabulary, 3)};
  for (int64_t b = 0; b < B; ++b) {
    batch.tokens.data()[b * T] = static_cast<std::int32_t>(b);
    for (int64_t t = 1; t < T; ++t) batch.next.data()[b * T + t - 1] = batch.tokens.data()[b * T + t];
  }
  return batch;
}

Tensor loss_of(const LanguageModel& model, const Batch& batch) { return nll_loss(model(batch.tokens), batch.next); }

}  // namespace

TEST_CASE("language models: log-probabilities of every token at every position") {
  manual_seed(30);
  for (const auto& [name, model] : all_models({7, 6, 8})) {
    INFO(name);
    const Tensor y = (*model)(random_ids({3, 6}, 7, 4));
    REQUIRE(y.shape() == Shape{3, 6, 7});
    for (double total : sum(exp(y), {2}).to_vector()) CHECK(total == Approx(1).epsilon(1e-5));
  }
}

TEST_CASE("language models: neither the future nor another text changes a bit") {
  manual_seed(31);
  for (const auto& [name, model] : all_models({7, 6, 8})) {
    INFO(name);
    const Ids tokens = random_ids({2, 6}, 7, 5);
    const Tensor before = (*model)(tokens);
    for (int64_t t = 0; t < 6; ++t) {
      Ids changed({2, 6}, to_vector(tokens));
      changed.data()[t] = (changed.data()[t] + 3) % 7;
      const Tensor after = (*model)(changed);
      CHECK(same_bits(before.select(0, 0).slice(0, 0, t), after.select(0, 0).slice(0, 0, t)));
      CHECK_FALSE(same_bits(before.select(0, 0).select(0, t), after.select(0, 0).select(0, t)));
      CHECK(same_bits(before.select(0, 1), after.select(0, 1)));
    }
  }
}

TEST_CASE("language models: a reader says what the model says of its window, at every length") {
  manual_seed(36);
  constexpr int64_t context = 6, half = 3, length = 25;
  const Ids text = random_ids({length}, 7, 7);
  for (const auto& [name, model] : all_models({7, context, 8})) {
    INFO(name);
    for (int64_t piece : {1, 2, 5, 8}) {
      const std::unique_ptr<Reader> reader = model->reader();
      int64_t start = 0;
      for (int64_t end = piece; end <= length; end += piece) {
        while (end - start > context) start += half;
        const Ids window({1, end - start}, {text.data() + start, text.data() + end});
        const Tensor next = reader->read({text.data() + end - piece, text.data() + end});
        CHECK(close(next, (*model)(window).select(0, 0).select(0, -1), 1e-5));
      }
    }
  }
}

TEST_CASE("language models: a reader goes on from before what it has refused") {
  manual_seed(38);
  const Ids text = random_ids({20}, 7, 9);
  const std::vector<std::int32_t> unknown{7}, longer{1, 2, 3, 4, 7};  // the longer moves the window on
  for (const auto& [name, model] : all_models({7, 6, 8})) {
    INFO(name);
    const std::unique_ptr<Reader> reader = model->reader(), undisturbed = model->reader();
    for (const std::int32_t& token : text.values()) {
      CHECK_THROWS_AS(reader->read(unknown), Error);
      CHECK_THROWS_AS(reader->read(longer), Error);
      CHECK(close(reader->read({&token, 1}), undisturbed->read({&token, 1}), 1e-5));
    }
  }
}

TEST_CASE("language models: reading on and on takes no more memory") {
  manual_seed(37);
  const Ids text = random_ids({64}, 7, 8);
  for (const auto& [name, model] : all_models({7, 16, 8})) {
    INFO(name);
    const std::unique_ptr<Reader> reader = model->reader();
    auto read = [&] {
      for (const std::int32_t& token : text.values()) reader->read({&token, 1});
      return memory_stats();
    };
    const MemoryStats before = read(), after = read();
    CHECK(after.current == before.current);
    CHECK(after.system_allocations == before.system_allocations);
  }
}

TEST_CASE("language models: no texts, or texts without tokens, yield no numbers") {
  manual_seed(39);
  for (const Shape& shape : {Shape{0, 4}, Shape{2, 0}, Shape{0, 0}}) {
    for (const auto& [name, model] : all_models({7, 6, 8})) {
      CAPTURE(name, shape);
      CHECK((*model)(Ids::zeros(shape)).shape() == Shape{shape[0], shape[1], 7});
    }
    for (const auto& [name, model] : neural_models({7, 6, 8})) {
      CAPTURE(name, shape);
      Tape tape;
      tape.backward(nll_loss((*model)(Ids::zeros(shape)), Ids::zeros(shape)));
      for (const Tensor& parameter : model->parameters()) {
        if (parameter.has_grad()) CHECK(sum(abs(parameter.grad())).item() == 0);
      }
    }
  }
}

TEST_CASE("language models: refuse what they cannot read") {
  manual_seed(32);
  for (const auto& [name, model] : all_models({7, 6, 8})) {
    INFO(name);
    CHECK(model->context() == 6);
    CHECK_THROWS_WITH((*model)(Ids::zeros({1, 7})),
                      ContainsSubstring("a text of 7 tokens is longer than the model's 6"));
    CHECK_THROWS_WITH((*model)(Ids::zeros({6})), ContainsSubstring("need (batch, time)"));
    CHECK_THROWS_WITH((*model)(Ids({1, 2}, {0, 7})), ContainsSubstring("7"));
    CHECK_THROWS_AS((*model)(Ids({1, 2}, {0, -1})), Error);
  }
}

TEST_CASE("language models: every parameter gets a gradient") {
  manual_seed(33);
  const Batch batch = random_texts(4, 6, 7);
  for (const auto& [name, model] : neural_models({7, 6, 8})) {
    INFO(name);
    check_every_parameter_gets_a_gradient(*model, [&, &f = *model] { return loss_of(f, batch); });
  }
}

TEST_CASE("language models: drop in training only") {
  manual_seed(34);
  const Ids tokens = random_ids({2, 6}, 7, 6);
  for (const auto& [name, model] : neural_models({7, 6, 8, 0.3})) {
    INFO(name);
    check_drops_in_training_only(*model, [&, &f = *model] { return f(tokens); });
  }
}

TEST_CASE("language models: learn random texts by heart") {
  manual_seed(1);
  const Batch batch = random_texts(32, 8, 32);
  for (const auto& [name, model] : neural_models({32, 8, 32})) {
    INFO(name);
    CHECK(loss_of(*model, batch).item() > 3);  // log 32 = 3.47
    CHECK(learn(
              *model, [&, &f = *model] { return loss_of(f, batch); }, 150) <= 0.05);
  }
}

TEST_CASE("language models: train to the same bits on any number of threads") {
  const Batch batch = random_texts(8, 32, 600);
  for (std::size_t i = 0; i < 3; ++i) {
    auto make = [&] { return std::move(neural_models({600, 32, 64, 0.1})[i].second); };
    check_same_bits_on_any_number_of_threads(make, [&](const LanguageModel& model) { return loss_of(model, batch); });
  }
}

TEST_CASE("language models: memory does not grow over steps") {
  manual_seed(35);
  const Batch batch = random_texts(4, 8, 7);
  for (const auto& [name, model] : neural_models({7, 8, 8, 0.1})) {
    INFO(name);
    check_memory_does_not_grow(*model, [&, &f = *model] { return loss_of(f, batch); });
  }
}
