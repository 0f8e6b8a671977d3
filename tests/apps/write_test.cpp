#include "apps/generate/write.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "nn/gtransformer.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::apps;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> logs(std::vector<double> probabilities) {
  for (double& p : probabilities) p = std::log(p);
  return probabilities;
}

/// How often each token is drawn, as a share.
std::vector<double> shares(const std::vector<double>& log_probs, const Choice& choice) {
  constexpr int draws = 20000;
  Generator generator(3);
  std::vector<double> shares(log_probs.size());
  for (int i = 0; i < draws; ++i) shares[static_cast<std::size_t>(draw(log_probs, choice, generator))] += 1.0 / draws;
  return shares;
}

/// Within five standard deviations of what was expected.
void check_shares(const std::vector<double>& log_probs, const Choice& choice, std::vector<double> expected) {
  const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
  const std::vector<double> seen = shares(log_probs, choice);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CAPTURE(i);
    const double p = expected[i] / sum;
    CHECK(std::abs(seen[i] - p) <= 5 * std::sqrt(p * (1 - p) / 20000) + 1e-9);
  }
}

/// After each token comes the next one, the last again after itself, nearly for certain. A LanguageModel of one's own.
class Counting : public nn::LanguageModel {
 public:
  Tensor operator()(const Ids& tokens) const override {
    check_tokens("Counting", tokens);
    CHECK_FALSE(training());
    longest = std::max(longest, tokens.size(1));
    Tensor result = full({tokens.size(0), tokens.size(1), vocabulary}, -100);
    for (int64_t i = 0; i < tokens.numel(); ++i) {
      const auto next = std::min<int64_t>(tokens.values()[static_cast<std::size_t>(i)] + 1, vocabulary - 1);
      result.data<float>()[i * vocabulary + next] = 0;
    }
    return result;
  }
  int64_t context() const override { return 4; }

  int64_t vocabulary = 256;
  mutable int64_t longest = 0;
};

/// What write_tokens should write, the slow way: the model is run over the whole window for every token.
std::vector<std::int32_t> written_by_hand(const nn::LanguageModel& model, std::vector<std::int32_t> tokens,
                                          std::size_t length, const Choice& choice) {
  Generator generator(7);
  const std::size_t prompt = tokens.size(), context = static_cast<std::size_t>(model.context());
  std::size_t start = 0;
  while (tokens.size() < prompt + length) {
    while (tokens.size() - start > context) start += context / 2;
    const auto window = std::span(tokens).subspan(start);
    const Tensor log_probs = model(Ids({1, std::ssize(window)}, {window.begin(), window.end()}));
    tokens.push_back(draw(log_probs.select(0, 0).select(0, -1).to_vector(), choice, generator));
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt), tokens.end()};
}

std::string printed(const data::Tokenizer& tokenizer, std::int32_t from, std::int64_t length) {
  Counting model;
  model.vocabulary = tokenizer.vocabulary_size();
  Generator generator(1);
  std::ostringstream out;
  print_text(out, model, tokenizer, {from}, length, {}, generator);
  return out.str();
}

}  // namespace

TEST_CASE("draws follow the probabilities", "[write]") {
  const std::vector<double> p{0.1, 0.4, 0, 0.3, 0.2};
  check_shares(logs(p), {}, p);
  check_shares(logs({1}), {}, {1});
}

TEST_CASE("the temperature sharpens and flattens", "[write]") {
  const std::vector<double> log_probs = logs({0.1, 0.5, 0.4});
  check_shares(log_probs, {.temperature = 0}, {0, 1, 0});
  check_shares(log_probs, {.temperature = 1e-300}, {0, 1, 0});
  check_shares(log_probs, {.temperature = 0.5}, {0.01, 0.25, 0.16});
  check_shares(log_probs, {.temperature = 2}, {std::sqrt(0.1), std::sqrt(0.5), std::sqrt(0.4)});
  check_shares(log_probs, {.temperature = 1e300}, {1, 1, 1});
}

TEST_CASE("top-k draws from the k most probable", "[write]") {
  const std::vector<double> log_probs = logs({0.1, 0.4, 0.2, 0.3});
  check_shares(log_probs, {.top_k = 1}, {0, 1, 0, 0});
  check_shares(log_probs, {.top_k = 2}, {0, 0.4, 0, 0.3});
  check_shares(log_probs, {.top_k = 1000}, {0.1, 0.4, 0.2, 0.3});
  // Of equals, the first: as many as asked for, not more.
  check_shares(logs({0.2, 0.2, 0.2, 0.2, 0.2}), {.top_k = 3}, {1, 1, 1, 0, 0});
}

TEST_CASE("top-p draws from the fewest that reach p", "[write]") {
  const std::vector<double> log_probs = logs({0.1, 0.4, 0.2, 0.3});
  check_shares(log_probs, {.top_p = 1e-9}, {0, 1, 0, 0});
  static_cast<void>(ones({1}) + 1.0);  // from here on denormals count as 0: then, too, one token is left
  check_shares(log_probs, {.top_p = 1e-310}, {0, 1, 0, 0});
  check_shares(log_probs, {.top_p = 0.39}, {0, 1, 0, 0});
  check_shares(log_probs, {.top_p = 0.41}, {0, 0.4, 0, 0.3});
  check_shares(log_probs, {.top_p = 0.85}, {0, 0.4, 0.2, 0.3});
  check_shares(log_probs, {.top_p = 1}, {0.1, 0.4, 0.2, 0.3});
  // p counts after the temperature and within the k most probable.
  check_shares(log_probs, {.temperature = 0.5, .top_p = 0.5}, {0, 1, 0, 0});
  check_shares(log_probs, {.top_k = 2, .top_p = 0.5}, {0, 1, 0, 0});
}

TEST_CASE("what is no distribution cannot be drawn from", "[write]") {
  Generator generator(1);
  for (double temperature : {0.0, 1.0}) {
    const Choice choice{.temperature = temperature};
    CHECK_THROWS_WITH(draw(std::vector<double>{0, std::nan("")}, choice, generator),
                      ContainsSubstring("not a number; the model's weights are damaged"));
    CHECK_THROWS_AS(draw(std::vector<double>{-infinity, -infinity}, choice, generator), Error);
    CHECK_THROWS_AS(draw(std::vector<double>{infinity, 0}, choice, generator), Error);
    CHECK_THROWS_AS(draw({}, choice, generator), Error);
  }
}

TEST_CASE("a model goes on from the prompt, in the window that it can look back on", "[write]") {
  Counting model;
  model.train();
  Generator generator(1);
  std::vector<std::int32_t> written;
  auto note = [&](std::int32_t token) {
    written.push_back(token);
    return token < 19;
  };
  write_tokens(model, {10, 11}, 6, {}, generator, note);
  CHECK(written == std::vector<std::int32_t>{12, 13, 14, 15, 16, 17});
  CHECK(model.longest == model.context());
  CHECK(model.training());

  written.clear();
  write_tokens(model, {10, 11, 12, 13, 14, 15, 16}, 100, {}, generator, note);
  CHECK(written == std::vector<std::int32_t>{17, 18, 19});  // note said that this is enough
  write_tokens(model, {10}, 0, {}, generator, note);
  CHECK(written.size() == 3);
  CHECK_THROWS_WITH(write_tokens(model, {}, 5, {}, generator, note), ContainsSubstring("the prompt is empty"));
}

TEST_CASE("the same seed writes the same with and without a cache, beyond the context too", "[write]") {
  manual_seed(5);
  nn::GTransformer model({.vocabulary = 30, .context = 16, .embedding = 16, .heads = 2, .depth = 3, .dropout = 0.5});
  std::vector<std::int32_t> long_prompt(23);
  std::iota(long_prompt.begin(), long_prompt.end(), 0);
  for (const std::vector<std::int32_t>& prompt : {{3}, {1, 2, 3, 4, 5}, long_prompt}) {
    for (const Choice& choice : {Choice{}, Choice{.temperature = 0}, Choice{.temperature = 2, .top_k = 9}}) {
      Generator generator(7);
      std::vector<std::int32_t> written;
      write_tokens(model, prompt, 60, choice, generator, [&](std::int32_t token) {
        written.push_back(token);
        return true;
      });
      model.eval();
      CHECK(written == written_by_hand(model, prompt, 60, choice));
      model.train();
    }
  }
}

TEST_CASE("text is printed in whole characters", "[write]") {
  CHECK(printed(data::CharTokenizer("abcdéü€"), 1, 5) == "cdéü€");
  CHECK(printed(data::ByteTokenizer(), 'a', 3) == "bcd");
  // From 0x7F on: bytes that continue no character, then some that begin one that is not continued.
  const std::string lone = printed(data::ByteTokenizer(), 0x7E, 4);
  CHECK(lone == "\x7F\uFFFD\uFFFD\uFFFD");
  CHECK(printed(data::ByteTokenizer(), 0xC1, 3) == "\uFFFD\uFFFD\uFFFD");
}

TEST_CASE("a text begins with a line break where there is one", "[write]") {
  CHECK(default_prompt(data::ByteTokenizer()) == std::vector<std::int32_t>{'\n'});
  CHECK(default_prompt(data::CharTokenizer("\t\nab")) == std::vector<std::int32_t>{1});
  CHECK(default_prompt(data::CharTokenizer("ab")) == std::vector<std::int32_t>{0});
}
