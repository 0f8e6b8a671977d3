#include "nn/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "autograd/error.h"

namespace reel::nn {
namespace {

void check_sampling(const Sampling& sampling) {
  if (!(sampling.temperature >= 0)) fail("sample: temperature is ", sampling.temperature, "; need temperature >= 0");
  if (sampling.top_k < 0) fail("sample: top_k is ", sampling.top_k, "; need top_k >= 0, where 0 means all");
  if (!(sampling.top_p >= 0)) fail("sample: top_p is ", sampling.top_p, "; need top_p >= 0");
}

void check_log_probs(std::span<const double> log_probs) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const double log_prob : log_probs) {
    if (std::isnan(log_prob)) fail("sample: a probability is not a number; the model's weights are damaged");
    highest = std::max(highest, log_prob);
  }
  if (!std::isfinite(highest)) fail("sample: no token is possible; the model's weights are damaged");
}

}  // namespace

std::int32_t sample(std::span<const double> log_probs, const Sampling& sampling, Generator& generator) {
  check_sampling(sampling);
  check_log_probs(log_probs);
  std::vector<std::int32_t> order(log_probs.size());
  std::iota(order.begin(), order.end(), 0);
  auto log_prob = [&](std::int32_t token) { return log_probs[static_cast<std::size_t>(token)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return log_prob(a) > log_prob(b); });
  if (sampling.temperature == 0) return order.front();
  std::erase_if(order, [&](std::int32_t token) { return std::isinf(log_prob(token)); });  // at any temperature

  std::vector<double> weights;
  for (std::int32_t token : order) {
    weights.push_back(std::exp((log_prob(token) - log_prob(order.front())) / sampling.temperature));
  }
  if (sampling.top_k > 0) weights.resize(std::min(weights.size(), static_cast<std::size_t>(sampling.top_k)));
  double kept = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (sampling.top_p < 1) {
    std::size_t count = 0;
    double sum = 0;
    do {
      sum += weights[count++];
    } while (count < weights.size() && sum < sampling.top_p * kept);
    weights.resize(count);
    kept = sum;
  }

  double place = generator.uniform() * kept;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    place -= weights[i];
    if (place < 0) return order[i];
  }
  return order[weights.size() - 1];  // rounding left a crumb
}

}  // namespace reel::nn
