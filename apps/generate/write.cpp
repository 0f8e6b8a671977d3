#include "apps/generate/write.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>

#include "apps/common/interrupt.h"
#include "apps/training/eval_mode.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/utf8.h"

namespace reel::apps {
namespace {

void check_log_probs(std::span<const double> log_probs) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const double log_prob : log_probs) {
    if (std::isnan(log_prob)) fail("draw: a probability is not a number; the model's weights are damaged");
    highest = std::max(highest, log_prob);
  }
  if (!std::isfinite(highest)) fail("draw: no token is possible; the model's weights are damaged");
}

}  // namespace

std::int32_t draw(std::span<const double> log_probs, const Choice& choice, Generator& generator) {
  check_log_probs(log_probs);
  std::vector<std::int32_t> order(log_probs.size());
  std::iota(order.begin(), order.end(), 0);
  auto log_prob = [&](std::int32_t token) { return log_probs[static_cast<std::size_t>(token)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return log_prob(a) > log_prob(b); });
  if (choice.temperature == 0) return order.front();

  std::vector<double> weights;
  for (std::int32_t token : order) {
    weights.push_back(std::exp((log_prob(token) - log_prob(order.front())) / choice.temperature));
  }
  if (choice.top_k > 0) weights.resize(std::min(weights.size(), static_cast<std::size_t>(choice.top_k)));
  double kept = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (choice.top_p < 1) {
    std::size_t count = 0;
    double sum = 0;
    do {
      sum += weights[count++];
    } while (count < weights.size() && sum < choice.top_p * kept);
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

void write_tokens(nn::LanguageModel& model, const std::vector<std::int32_t>& prompt, std::int64_t length,
                  const Choice& choice, Generator& generator, const std::function<bool(std::int32_t)>& each) {
  if (prompt.empty()) fail("write_tokens: the prompt is empty; need at least one token");
  const EvalMode mode(model);
  const std::unique_ptr<nn::Reader> reader = model.reader();
  std::vector<std::int32_t> fresh = prompt;
  for (std::int64_t i = 0; i < length; ++i) {
    fresh = {draw(reader->read(fresh).to_vector(), choice, generator)};
    if (!each(fresh[0])) break;
  }
}

void print_text(std::ostream& out, nn::LanguageModel& model, const data::Tokenizer& tokenizer,
                const std::vector<std::int32_t>& prompt, std::int64_t length, const Choice& choice,
                Generator& generator) {
  // A token may be one byte of a character: a character is printed when the next one begins.
  std::string character;
  auto print = [&] { out << replace_invalid_utf8(character) << std::flush; };
  write_tokens(model, prompt, length, choice, generator, [&](std::int32_t token) {
    const std::string piece = tokenizer.decode({&token, 1});
    if (begins_character(piece.front())) {
      print();
      character.clear();
    }
    character += piece;
    return !interrupted();
  });
  print();
}

std::vector<std::int32_t> default_prompt(const data::Tokenizer& tokenizer) {
  try {
    return tokenizer.encode("\n");
  } catch (const Error&) {
    return {0};
  }
}

}  // namespace reel::apps
