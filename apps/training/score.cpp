#include "apps/training/score.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <span>

#include "autograd/error.h"

namespace reel::apps {
namespace {

/// Whether scores[target] is the largest, or the first of the largest; not where a score is NaN. An argmax says the
/// same but takes twenty times as long, which would show in a training step.
template <class T>
bool is_largest(const T* scores, std::int64_t count, std::int64_t target) {
  const T score = scores[target];
  int beaten = !(score == score);
  for (std::int64_t i = 0; i < target; ++i) beaten |= !(scores[i] < score);
  for (std::int64_t i = target + 1; i < count; ++i) beaten |= !(scores[i] <= score);
  return !beaten;
}

}  // namespace

Hits& Hits::operator+=(const Hits& more) {
  right += more.right;
  all += more.all;
  return *this;
}

Hits count_hits(const Tensor& some_scores, const Ids& targets) {
  const Tensor scores = contiguous_values(some_scores);
  const std::int64_t count = scores.size(-1);
  if (scores.numel() != targets.numel() * count) {
    fail("count_hits: scores ", scores.shape(), " need a target for every ", count, " of them; there are ",
         targets.numel());
  }
  Hits hits;
  with_type(scores.dtype(), [&]<class T>(T) {
    const T* row = scores.data<T>();
    for (const std::int32_t target : targets.values()) {
      if (target < 0 || target >= count) fail("count_hits: the target ", target, " is none of ", count, " scores");
      hits += {is_largest(row, count, target) ? 1 : 0, 1};
      row += count;
    }
  });
  return hits;
}

void check_numbers(const Tensor& some_scores) {
  const Tensor scores = contiguous_values(some_scores);
  with_type(scores.dtype(), [&]<class T>(T) {
    const std::span<const T> numbers(scores.data<T>(), static_cast<std::size_t>(scores.numel()));
    if (std::ranges::any_of(numbers, [](T number) { return std::isnan(number); })) {
      fail("the model's scores are not numbers; its training diverged, or its weights are too large");
    }
  });
}

double Score::bits() const { return loss * std::numbers::log2e; }
double Score::perplexity() const { return std::exp(loss); }

void check_finite(const Score& score, const std::string& model) {
  if (std::isfinite(score.loss)) return;
  fail(model, ": the model's loss is ", score.loss,
       ", not a finite number; its training diverged, or the checkpoint is damaged");
}

std::string line_of_tokens(const Score& score) {
  const double perplexity = score.perplexity();
  char digits[32], line[256];
  std::snprintf(digits, sizeof digits, perplexity < 1e6 ? "%.3f" : "%.3e", perplexity);
  std::snprintf(line, sizeof line, "loss %.4f nats  bits %.4f  perplexity %s  accuracy %.4f  tokens %lld", score.loss,
                score.bits(), digits, score.accuracy, static_cast<long long>(score.predictions));
  return line;
}

std::string line_of_texts(const Score& score) {
  char line[128];
  std::snprintf(line, sizeof line, "accuracy %.4f  loss %.4f nats  texts %lld", score.accuracy, score.loss,
                static_cast<long long>(score.predictions));
  return line;
}

std::string note_of_cuts(std::int64_t cut, std::int64_t length) {
  return cut > 0 ? text("  ", cut, " cut at --max ", length) : "";
}

void ScoreSum::add(double loss, const Hits& more) { *this += {loss * static_cast<double>(more.all), more}; }

ScoreSum& ScoreSum::operator+=(const ScoreSum& more) {
  losses += more.losses;
  hits += more.hits;
  return *this;
}

Score ScoreSum::score() const {
  return {.loss = losses / static_cast<double>(hits.all), .accuracy = hits.share(), .predictions = hits.all};
}

}  // namespace reel::apps
