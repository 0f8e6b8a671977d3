#include "nn/sampling.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::nn;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> logs(std::vector<double> probabilities) {
  for (double& p : probabilities) p = std::log(p);
  return probabilities;
}

/// How often each token is drawn, as a share.
std::vector<double> shares(const std::vector<double>& log_probs, const Sampling& sampling) {
  constexpr int draws = 20000;
  Generator generator(3);
  std::vector<double> shares(log_probs.size());
  for (int i = 0; i < draws; ++i)
    shares[static_cast<std::size_t>(sample(log_probs, sampling, generator))] += 1.0 / draws;
  return shares;
}

/// Within five standard deviations of what was expected.
void check_shares(const std::vector<double>& log_probs, const Sampling& sampling, std::vector<double> expected) {
  const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
  const std::vector<double> seen = shares(log_probs, sampling);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CAPTURE(i);
    const double p = expected[i] / sum;
    CHECK(std::abs(seen[i] - p) <= 5 * std::sqrt(p * (1 - p) / 20000) + 1e-9);
  }
}

}  // namespace

TEST_CASE("draws follow the probabilities") {
  const std::vector<double> p{0.1, 0.4, 0, 0.3, 0.2};
  check_shares(logs(p), {}, p);
  check_shares(logs({1}), {}, {1});
}

TEST_CASE("the temperature sharpens and flattens") {
  const std::vector<double> log_probs = logs({0.1, 0.5, 0.4});
  check_shares(log_probs, {.temperature = 0}, {0, 1, 0});
  check_shares(log_probs, {.temperature = 1e-300}, {0, 1, 0});
  check_shares(log_probs, {.temperature = 0.5}, {0.01, 0.25, 0.16});
  check_shares(log_probs, {.temperature = 2}, {std::sqrt(0.1), std::sqrt(0.5), std::sqrt(0.4)});
  check_shares(log_probs, {.temperature = 1e300}, {1, 1, 1});
}

TEST_CASE("top-k draws from the k most probable") {
  const std::vector<double> log_probs = logs({0.1, 0.4, 0.2, 0.3});
  check_shares(log_probs, {.top_k = 1}, {0, 1, 0, 0});
  check_shares(log_probs, {.top_k = 2}, {0, 0.4, 0, 0.3});
  check_shares(log_probs, {.top_k = 1000}, {0.1, 0.4, 0.2, 0.3});
  // Of equals, the first: as many as asked for, not more.
  check_shares(logs({0.2, 0.2, 0.2, 0.2, 0.2}), {.top_k = 3}, {1, 1, 1, 0, 0});
}

TEST_CASE("top-p draws from the fewest that reach p") {
  const std::vector<double> log_probs = logs({0.1, 0.4, 0.2, 0.3});
  check_shares(log_probs, {.top_p = 1e-9}, {0, 1, 0, 0});
  check_shares(log_probs, {.top_p = 0}, {0, 1, 0, 0});
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

TEST_CASE("what is impossible is never drawn") {
  const std::vector<double> log_probs = logs({0, 0.7, 0, 0.3, 0});
  check_shares(log_probs, {.temperature = infinity}, {0, 1, 0, 1, 0});
  check_shares(log_probs, {.temperature = 1e300}, {0, 1, 0, 1, 0});
  check_shares(log_probs, {.top_k = 4}, {0, 0.7, 0, 0.3, 0});
}

TEST_CASE("a way of sampling that is none is refused") {
  Generator generator(1);
  const std::vector<double> log_probs = logs({0.5, 0.5});
  const double not_a_number = std::nan("");
  for (const Sampling& wrong : {Sampling{.temperature = -1}, Sampling{.temperature = not_a_number},
                                Sampling{.top_k = -1}, Sampling{.top_p = -0.5}, Sampling{.top_p = not_a_number}}) {
    CHECK_THROWS_AS(sample(log_probs, wrong, generator), Error);
  }
  CHECK_THROWS_WITH(sample(log_probs, {.temperature = -1}, generator), ContainsSubstring("temperature is -1; need"));
}

TEST_CASE("what is no distribution cannot be drawn from") {
  Generator generator(1);
  for (double temperature : {0.0, 1.0}) {
    const Sampling sampling{.temperature = temperature};
    CHECK_THROWS_WITH(sample(std::vector<double>{0, std::nan("")}, sampling, generator),
                      ContainsSubstring("not a number; the model's weights are damaged"));
    CHECK_THROWS_AS(sample(std::vector<double>{-infinity, -infinity}, sampling, generator), Error);
    CHECK_THROWS_AS(sample(std::vector<double>{infinity, 0}, sampling, generator), Error);
    CHECK_THROWS_AS(sample({}, sampling, generator), Error);
  }
}
