#include "apps/translate/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "apps/training/eval_mode.h"
#include "apps/training/score.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "data/batch_sampler.h"

namespace reel::apps {
namespace {

using data::Tokens;

/// 0, 1, ..., count - 1
Tokens counted(std::int64_t count) {
  Tokens all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

constexpr double impossible = -std::numeric_limits<double>::infinity();

/// The logits (rows, V), but for what is never part of a translation.
Tensor allowed(const Tensor& logits, const SearchLimits& limits) {
  if (limits.never.empty()) return logits;
  Ids never = Ids::zeros({logits.size(-1)});
  for (const std::int32_t token : limits.never) {
    if (token < logits.size(-1)) never.values()[static_cast<std::size_t>(token)] = 1;
  }
  return masked_fill(logits, never, impossible);
}

struct Hypothesis {
  Tokens tokens;  // from the start token on
  double log_prob = 0;
  std::int32_t row = 0;  // of the one that it goes on from, in the beam of the step before

  double score(double alpha) const {
    return log_prob / std::pow((5 + static_cast<double>(tokens.size() - 1)) / 6, alpha);
  }
};

/// The `count` best ways to go on from `beam`, whose next tokens have these log-probabilities (beam, V); fewer if
/// others are impossible.
std::vector<Hypothesis> extend(const std::vector<Hypothesis>& beam, const std::vector<double>& log_probs,
                               std::size_t count) {
  const std::size_t vocabulary = log_probs.size() / beam.size();
  std::vector<double> totals;
  totals.reserve(log_probs.size());
  for (const Hypothesis& hypothesis : beam) {
    for (std::size_t i = 0; i < vocabulary; ++i) totals.push_back(hypothesis.log_prob + log_probs[totals.size()]);
  }
  std::vector<std::size_t> places(totals.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::erase_if(places, [&](std::size_t place) { return totals[place] == impossible; });
  count = std::min(count, places.size());
  std::partial_sort(
      places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count), places.end(),
      [&](std::size_t a, std::size_t b) { return totals[a] != totals[b] ? totals[a] > totals[b] : a < b; });
  std::vector<Hypothesis> best;
  for (std::size_t i = 0; i < count; ++i) {
    Hypothesis next = beam[places[i] / vocabulary];
    next.tokens.push_back(static_cast<std::int32_t>(places[i] % vocabulary));
    next.log_prob = totals[places[i]];
    next.row = static_cast<std::int32_t>(places[i] / vocabulary);
    best.push_back(std::move(next));
  }
  return best;
}

}  // namespace

std::vector<Tokens> greedy_search(nn::Translator& model, const Ids& source, const SearchLimits& limits) {
  const std::unique_ptr<nn::Translation> translation = model.start(source);
  std::vector<Tokens> found(static_cast<std::size_t>(source.size(0)));
  // Texts that have not come to their end, the row of each in the step before, and its newest token.
  Tokens open = counted(source.size(0)), rows = open, last(open.size(), limits.start);
  auto is_never = [&](std::int32_t token) { return std::ranges::count(limits.never, token) > 0; };
  for (std::int64_t length = 0; length < limits.longest && !open.empty(); ++length) {
    const Tensor logits = allowed(translation->extend(Ids(rows), Ids(last)), limits);
    check_numbers(logits);
    const Ids next = argmax(logits, -1);
    const Tokens before = std::move(open);
    open.clear(), rows.clear(), last.clear();
    for (std::size_t row = 0; row < before.size(); ++row) {
      const std::int32_t token = next.values()[row];
      if (token == limits.end || is_never(token)) continue;  // the latter where nothing is possible
      found[static_cast<std::size_t>(before[row])].push_back(token);
      open.push_back(before[row]);
      rows.push_back(static_cast<std::int32_t>(row));
      last.push_back(token);
    }
  }
  return found;
}

Tokens beam_search(nn::Translator& model, const Ids& source, std::int64_t width, double alpha,
                   const SearchLimits& limits) {
  if (width < 1) fail("beam_search: the width is ", width, "; need at least 1");
  const auto count = static_cast<std::size_t>(width);
  const std::unique_ptr<nn::Translation> translation = model.start(source);
  std::vector<Hypothesis> beam{{{limits.start}}}, finished;
  std::int64_t length = 0;
  // As many as `count` may end early and still be less probable than a beginning that goes on: it must have ended, too.
  bool likeliest_ended = false;
  for (; length < limits.longest && !beam.empty() && !(likeliest_ended && finished.size() >= count); ++length) {
    Tokens rows, last;
    for (const Hypothesis& hypothesis : beam) {
      rows.push_back(hypothesis.row);
      last.push_back(hypothesis.tokens.back());
    }
    const Tensor log_probs = log_softmax(allowed(translation->extend(Ids(rows), Ids(last)), limits), -1);  // (beam, V)
    check_numbers(log_probs);

    // Those that end leave the beam; twice as many candidates keep it full. An end that is not among the best `count`
    // does not count: with a beam of 1, it would beat the more probable word.
    const std::vector<Hypothesis> candidates = extend(beam, log_probs.to_vector(), 2 * count);
    beam.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].tokens.back() == limits.end) {
        if (i < count) finished.push_back(candidates[i]);
        if (i == 0) likeliest_ended = true;
      } else if (beam.size() < count) {
        beam.push_back(candidates[i]);
      }
    }
  }
  // What is as long as it may get is a translation, too, as in greedy search: it may be a whole one.
  if (length == limits.longest) finished.insert(finished.end(), beam.begin(), beam.end());
  if (finished.empty()) return {};  // nothing is possible
  Tokens best = std::max_element(finished.begin(), finished.end(), [&](const Hypothesis& a, const Hypothesis& b) {
                  return a.score(alpha) < b.score(alpha);
                })->tokens;
  best.erase(best.begin());
  if (!best.empty() && best.back() == limits.end) best.pop_back();
  return best;
}

std::vector<data::Tokens> find_translations(nn::Translator& model, std::span<const data::Tokens> sources,
                                            std::int64_t longest, const SearchConfig& search) {
  const EvalMode mode(model);
  const SearchLimits limits{
      .start = data::start_id, .end = data::end_id, .longest = longest, .never = {data::pad_id, data::start_id}};
  std::vector<data::Tokens> translations(sources.size());
  const std::int64_t at_once = search.beam == 1 ? scoring_batch : 1;  // a beam is a batch by itself
  for (const data::Indices& rows : data::sorted_batches(data::lengths_of(sources), at_once)) {
    const Ids batch = data::pad(sources, rows).ids;
    auto found = search.beam == 1
                     ? greedy_search(model, batch, limits)
                     : std::vector<data::Tokens>{beam_search(model, batch, search.beam, search.alpha, limits)};
    for (std::size_t i = 0; i < rows.size(); ++i) translations[static_cast<std::size_t>(rows[i])] = std::move(found[i]);
  }
  return translations;
}

std::vector<std::string> translate_all(nn::Translator& model, std::span<const data::Tokens> sources,
                                       const data::WordTokenizer& target, std::int64_t longest,
                                       const SearchConfig& search) {
  std::vector<std::string> texts;
  for (const data::Tokens& words : find_translations(model, sources, longest, search)) {
    texts.push_back(target.decode(words));
  }
  return texts;
}

}  // namespace reel::apps
