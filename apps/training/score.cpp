#include "apps/training/score.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "apps/common/numbers.h"
#include "autograd/error.h"

namespace reel::apps {
namespace {

/// Whether logits[target] is the largest, or the first of the largest; not where a logit is NaN. An argmax says the
/// same but takes twenty times as long, which would show in a training step.
template <class T>
bool is_largest(const T* logits, std::int64_t count, std::int64_t target) {
  const T wanted = logits[target];
  int beaten = !(wanted == wanted);
  for (std::int64_t i = 0; i < target; ++i) beaten |= !(logits[i] < wanted);
  for (std::int64_t i = target + 1; i < count; ++i) beaten |= !(logits[i] <= wanted);
  return !beaten;
}

}  // namespace

Hits& Hits::operator+=(const Hits& more) {
  right += more.right;
  all += more.all;
  return *this;
}

Hits count_hits(const Tensor& some_logits, const Ids& targets) {
  const Tensor logits = contiguous_values(some_logits);
  const std::int64_t count = logits.size(-1);
  if (logits.numel() != targets.numel() * count) {
    fail("count_hits: logits ", logits.shape(), " need a target for every ", count, " of them; there are ",
         targets.numel());
  }
  Hits hits;
  with_type(logits.dtype(), [&]<class T>(T) {
    const T* row = logits.data<T>();
    for (const std::int32_t target : targets.values()) {
      if (target < 0 || target >= count) fail("count_hits: the target ", target, " is none of ", count, " logits");
      hits += {is_largest(row, count, target) ? 1 : 0, 1};
      row += count;
    }
  });
  return hits;
}

void check_numbers(const Tensor& some_logits) {
  const Tensor logits = contiguous_values(some_logits);
  with_type(logits.dtype(), [&]<class T>(T) {
    const std::span<const T> numbers(logits.data<T>(), static_cast<std::size_t>(logits.numel()));
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
  return text("loss ", fixed(score.loss, 4), " nats  bits ", fixed(score.bits(), 4), "  perplexity ",
              perplexity < 1e6 || std::isinf(perplexity) ? fixed(perplexity, 3) : short_number(perplexity, 4),
              "  accuracy ", fixed(score.accuracy, 4), "  tokens ", score.predictions);
}

std::string line_of_texts(const Score& score) {
  return text("accuracy ", fixed(score.accuracy, 4), "  loss ", fixed(score.loss, 4), " nats  texts ",
              score.predictions);
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
