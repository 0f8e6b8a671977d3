#include "nn/markov_model.h"

#include <cmath>
#include <memory>

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

using Text = std::vector<std::int32_t>;

/// The probabilities of what comes after the last of these tokens.
Values after(const MarkovModel& model, const Text& tokens) {
  const Tensor y = exp(model(Ids({1, static_cast<int64_t>(tokens.size())}, tokens)));
  return y.select(0, 0).select(0, -1).to_vector();
}

/// Mean of -log p over the tokens from the second on.
double loss(const MarkovModel& model, const Text& text) {
  const auto T = static_cast<int64_t>(text.size()) - 1;
  return nll_loss(model(Ids({1, T}, Text(text.begin(), text.end() - 1))),
                  Ids({1, T}, Text(text.begin() + 1, text.end())))
      .item();
}

/// Text in which each token is likely to be (a + b) mod 5 of the two before it.
Text generated(int64_t length, std::uint64_t seed) {
  Generator generator(seed);
  Text text{0, 1};
  while (static_cast<int64_t>(text.size()) < length) {
    const std::int32_t rule = (text[text.size() - 1] + text[text.size() - 2]) % 5;
    text.push_back(generator.below(10) == 0 ? static_cast<std::int32_t>(generator.below(5)) : rule);
  }
  return text;
}

}  // namespace

// Too short for counts of counts: the discounts are 0.5, 1 and 1.5.
TEST_CASE("markov model: counted by hand") {
  const Text text{0, 1, 0, 1, 0, 2};
  // Order 0: 0 three times, 1 twice, 2 once, of six; discounts 1.5 + 1 + 0.5 go to four tokens evenly.
  const double share = 3.0 / 6 / 4;
  const MarkovModel unigrams(text, {.vocabulary = 4, .order = 0});
  check_close(after(unigrams, {1}), {1.5 / 6 + share, 1.0 / 6 + share, 0.5 / 6 + share, share}, 1e-6);

  // Order 1. Before 0 stand the text's start and 1; before 1 only 0; before 2 only 0: counts of 2, 1, 1, of four.
  const MarkovModel bigrams(text, {.vocabulary = 4, .order = 1});
  const double even = (1 + 0.5 + 0.5) / 4 / 4;
  const Values shorter{1.0 / 4 + even, 0.5 / 4 + even, 0.5 / 4 + even, even};
  // After 0: twice 1, once 2; discounts 1 + 0.5.
  Values expected;
  for (double p : shorter) expected.push_back(1.5 / 3 * p);
  expected[1] += 1.0 / 3;
  expected[2] += 0.5 / 3;
  check_close(after(bigrams, {3, 0}), expected, 1e-6);
  // After 1: twice 0.
  for (std::size_t i = 0; i < 4; ++i) expected[i] = 1.0 / 2 * shorter[i];
  expected[0] += 1.0 / 2;
  check_close(after(bigrams, {1}), expected, 1e-6);
  // 2 and 3 have no followers: what is left is the shorter context.
  check_close(after(bigrams, {2}), shorter, 1e-6);
  check_close(after(bigrams, {0, 3}), shorter, 1e-6);
}

TEST_CASE("markov model: what stands in many places is probable in new ones, what is only frequent is not") {
  // 3 occurs six times, but only after 2; 1 occurs three times, each after another token.
  const Text text{2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 0, 1, 4, 1, 5, 1, 6};
  const MarkovModel model(text, {.vocabulary = 8, .order = 1});
  const Values unseen = after(model, {7});
  CHECK(unseen[1] > unseen[3]);
  const MarkovModel unigrams(text, {.vocabulary = 8, .order = 0});
  CHECK(after(unigrams, {7})[1] < after(unigrams, {7})[3]);
}

TEST_CASE("markov model: without text all tokens are equally probable") {
  const MarkovModel model(Text{}, {.vocabulary = 4, .order = 3});
  check_close(after(model, {0, 1, 2, 3}), Values(4, 0.25), 1e-6);
}

TEST_CASE("markov model: probabilities sum to 1 and none is 0") {
  const MarkovModel model(generated(3000, 1), {.vocabulary = 9, .order = 4});
  const Tensor y = model(random_ids({4, 50}, 9, 2));
  for (double total : sum(exp(y), {2}).to_vector()) CHECK(total == Approx(1).epsilon(1e-5));
  CHECK(all_finite(y));
}

TEST_CASE("markov model: looks back on `order` tokens and no further") {
  const MarkovModel model(generated(3000, 1), {.vocabulary = 5, .order = 2});
  CHECK(after(model, {0, 1, 3, 4}) == after(model, {3, 4}));
  CHECK(after(model, {1, 4}) != after(model, {3, 4}));
}

TEST_CASE("markov model: learns a rule of two tokens from two tokens, and does not lose it with more") {
  const Text training = generated(20000, 1), other = generated(2000, 2);
  const double entropy = -0.92 * std::log(0.92) - 0.08 * std::log(0.02);
  auto loss_of = [&](int64_t order) {
    return loss(MarkovModel(training, {.vocabulary = 5, .context = 2000, .order = order}), other);
  };
  CHECK(loss_of(0) == Approx(std::log(5.0)).margin(0.05));
  CHECK(loss_of(1) == Approx(std::log(5.0)).margin(0.05));
  CHECK(loss_of(2) == Approx(entropy).margin(0.05));
  CHECK(loss_of(5) == Approx(entropy).margin(0.1));
}

TEST_CASE("markov model: its state is its training text") {
  const Text text = generated(300, 3);
  const MarkovModel::Config config{.vocabulary = 5, .context = 20, .order = 3};
  const MarkovModel model(text, config);
  REQUIRE(names(model) == std::vector<std::string>{"tokens"});
  CHECK(model.state_dict()[0].second.to_vector() == Values(text.begin(), text.end()));
  CHECK(model.parameters().empty());

  MarkovModel changed = model;
  CHECK_THROWS_WITH(static_cast<LanguageModel&>(changed).load_state_dict(model.state_dict()),
                    ContainsSubstring("MarkovModel: its counts cannot be loaded"));
  const MarkovModel again = MarkovModel::from_state(snapshot(model.state_dict()), config);
  const Ids tokens = random_ids({2, 20}, 5, 4);
  CHECK(same_bits(again(tokens), model(tokens)));
}

TEST_CASE("markov model: a copy outlives what it was copied from") {
  auto model = std::make_unique<MarkovModel>(generated(300, 3), MarkovModel::Config{.vocabulary = 5, .order = 3});
  const Values before = after(*model, {0, 1, 2});
  const MarkovModel copy = *model;
  model.reset();
  CHECK(after(copy, {0, 1, 2}) == before);
}

TEST_CASE("markov model: says what is wrong with a text, an option or a state") {
  const MarkovModel::Config config{.vocabulary = 5, .order = 2};
  CHECK_THROWS_WITH(MarkovModel(Text{0, 5}, config), ContainsSubstring("the id 5 at position 1"));
  CHECK_THROWS_WITH(MarkovModel(Text{-1}, config), ContainsSubstring("need 0 <= id < 5"));
  CHECK_THROWS_WITH(MarkovModel(Text{}, {.vocabulary = 0}), ContainsSubstring("the vocabulary is 0"));
  for (const int64_t order : {int64_t{-1}, int64_t{65}, int64_t{1} << 40}) {
    CHECK_THROWS_WITH(MarkovModel(Text{}, {.vocabulary = 5, .order = order}),
                      ContainsSubstring("the order is " + std::to_string(order) + "; need 0 to 64"));
  }

  auto from = [&](const StateDict& state) { return MarkovModel::from_state(state, config); };
  CHECK_THROWS_WITH(from({}), ContainsSubstring("of another model"));
  CHECK_THROWS_WITH(from({{"weight", zeros({3})}}), ContainsSubstring("of another model"));
  CHECK_THROWS_WITH(from({{"tokens", zeros({3, 1})}}), ContainsSubstring("of another model"));
  CHECK_THROWS_WITH(from({{"tokens", tensor({2}, {1, 5})}}), ContainsSubstring("holds 5 at position 1"));
  CHECK_THROWS_WITH(from({{"tokens", tensor({2}, {0.5, 1})}}), ContainsSubstring("holds 0.5 at position 0"));
  CHECK_THROWS_AS(from({{"tokens", tensor({1}, {not_a_number})}}), Error);
}
