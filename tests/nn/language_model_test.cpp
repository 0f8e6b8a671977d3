// What every language model has to keep, tried with all of them.

#include "nn/language_model.h"

#include <memory>

#include "autograd/kernels/parallel.h"
#include "nn/conv_model.h"
#include "nn/gtransformer.h"
#include "nn/markov_model.h"
#include "nn/naive_transformer.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tests/nn/parameters.h"

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

double train_step(const LanguageModel& model, optim::Optimizer& optimizer, const Batch& batch) {
  Tape tape;
  const Tensor loss = nll_loss(model(batch.tokens), batch.next);
  tape.backward(loss);
  optim::clip_grad_norm(model.parameters(), 1);
  optimizer.step();
  optimizer.zero_grad();
  return loss.item();
}

/// Sets the number of threads back at the end.
class ThreadCount {
 public:
  ThreadCount() : before_(kernels::threads()) {}
  ~ThreadCount() { kernels::set_threads(before_); }

 private:
  int before_;
};

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

TEST_CASE("language models: refuse what they cannot read") {
  manual_seed(32);
  for (const auto& [name, model] : all_models({7, 6, 8})) {
    INFO(name);
    CHECK(model->context() == 6);
    CHECK_THROWS_WITH((*model)(Ids::zeros({1, 7})), ContainsSubstring("7 tokens are more than the context of 6"));
    CHECK_THROWS_WITH((*model)(Ids::zeros({6})), ContainsSubstring("need (batch, time)"));
    CHECK_THROWS_WITH((*model)(Ids({1, 2}, {0, 7})), ContainsSubstring("7"));
    CHECK_THROWS_AS((*model)(Ids({1, 2}, {0, -1})), Error);
  }
}

TEST_CASE("language models: every parameter gets a gradient") {
  manual_seed(33);
  for (const auto& [name, model] : neural_models({7, 6, 8})) {
    const Batch batch = random_texts(4, 6, 7);
    Tape tape;
    tape.backward(nll_loss((*model)(batch.tokens), batch.next));
    for (const auto& [parameter, value] : model->state_dict()) {
      INFO(name << " " << parameter);
      REQUIRE(value.grad().defined());
      CHECK(all_finite(value.grad()));
      CHECK(sum(abs(value.grad())).item() > 0);
    }
  }
}

TEST_CASE("language models: drop in training only") {
  manual_seed(34);
  for (const auto& [name, model] : neural_models({7, 6, 8, 0.3})) {
    INFO(name);
    const Ids tokens = random_ids({2, 6}, 7, 6);
    CHECK_FALSE(same_bits((*model)(tokens), (*model)(tokens)));
    model->eval();
    const Tensor y = (*model)(tokens);
    CHECK(same_bits((*model)(tokens), y));
    model->train();
    CHECK_FALSE(same_bits((*model)(tokens), y));
  }
}

TEST_CASE("language models: learn random texts by heart") {
  manual_seed(1);
  const Batch batch = random_texts(32, 8, 32);
  for (const auto& [name, model] : neural_models({32, 8, 32})) {
    INFO(name);
    optim::Adam optimizer({{model->parameters()}}, {.learn_rate = 1e-2});
    const double first = train_step(*model, optimizer, batch);
    CHECK(first > 3);  // log 32 = 3.47
    double last = first;
    for (int step = 1; step < 150 && last > 0.05; ++step) last = train_step(*model, optimizer, batch);
    CHECK(last <= 0.05);
  }
}

TEST_CASE("language models: train to the same bits on any number of threads") {
  const ThreadCount restore;
  const Batch batch = random_texts(8, 32, 600);
  std::vector<StateDict> states;
  std::vector<Values> losses;
  for (int threads = 1; threads <= 3; ++threads) {
    kernels::set_threads(threads);
    manual_seed(2);
    losses.emplace_back();
    states.emplace_back();
    for (const auto& [name, model] : neural_models({600, 32, 64, 0.1})) {
      optim::AdamW optimizer({{model->parameters(), 0.1}});
      for (int step = 0; step < 5; ++step) losses.back().push_back(train_step(*model, optimizer, batch));
      for (const auto& [parameter, value] : model->state_dict()) states.back().emplace_back(parameter, value);
    }
    CHECK(losses.back() == losses.front());
    CHECK(same_bits(states.back(), states.front()));
  }
  CHECK(losses[0][4] < losses[0][0]);
}

TEST_CASE("language models: memory does not grow over steps") {
  manual_seed(35);
  const Batch batch = random_texts(4, 8, 7);
  for (const auto& [name, model] : neural_models({7, 8, 8, 0.1})) {
    INFO(name);
    optim::Adam optimizer({{model->parameters()}});
    for (int step = 0; step < 2; ++step) train_step(*model, optimizer, batch);
    const MemoryStats before = memory_stats();
    for (int step = 0; step < 20; ++step) train_step(*model, optimizer, batch);
    const MemoryStats after = memory_stats();
    CHECK(after.current == before.current);
    CHECK(after.reserved == before.reserved);
    CHECK(after.system_allocations == before.system_allocations);
  }
}
