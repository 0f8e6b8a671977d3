#include "apps/translate/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel::apps {
namespace {

using Tokens = std::vector<std::int32_t>;

/// Rows of equal length as (rows, length).
Ids as_ids(const std::vector<Tokens>& rows) {
  Tokens all;
  for (const Tokens& row : rows) all.insert(all.end(), row.begin(), row.end());
  return Ids({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())}, all);
}

/// The model's logits of what follows each row of `target`: (B, V).
Tensor next_logits(const nn::Translator& model, const Tensor& memory, const Ids& source, const Ids& target) {
  return model.decode(memory, source, target).select(1, -1);
}

struct Hypothesis {
  Tokens tokens;  // from the start token on
  double log_prob = 0;

  double score(double alpha) const {
    return log_prob / std::pow((5 + static_cast<double>(tokens.size() - 1)) / 6, alpha);
  }
};

/// The `count` best ways to go on from `beam`, whose next tokens have these log-probabilities (beam, V).
std::vector<Hypothesis> extend(const std::vector<Hypothesis>& beam, const std::vector<double>& log_probs,
                               std::size_t count) {
  const std::size_t vocabulary = log_probs.size() / beam.size();
  std::vector<std::size_t> places(log_probs.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  auto total = [&](std::size_t place) { return beam[place / vocabulary].log_prob + log_probs[place]; };
  count = std::min(count, places.size());
  std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count), places.end(),
                    [&](std::size_t a, std::size_t b) { return total(a) != total(b) ? total(a) > total(b) : a < b; });
  std::vector<Hypothesis> best;
  for (std::size_t i = 0; i < count; ++i) {
    Hypothesis next = beam[places[i] / vocabulary];
    next.tokens.push_back(static_cast<std::int32_t>(places[i] % vocabulary));
    next.log_prob = total(places[i]);
    best.push_back(std::move(next));
  }
  return best;
}

}  // namespace

std::vector<Tokens> greedy_search(nn::Translator& model, const Ids& source, const SearchLimits& limits) {
  const Tensor memory = model.encode(source);
  std::vector<Tokens> rows(static_cast<std::size_t>(source.size(0)), Tokens{limits.start});
  std::vector<bool> done(rows.size(), false);
  for (std::int64_t length = 0; length < limits.longest && std::count(done.begin(), done.end(), false) > 0; ++length) {
    const Ids next = argmax(next_logits(model, memory, source, as_ids(rows)), -1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].push_back(next.values()[i]);
      done[i] = done[i] || next.values()[i] == limits.end;
    }
  }
  for (Tokens& row : rows) {
    row.erase(row.begin());
    row.erase(std::find(row.begin(), row.end(), limits.end), row.end());
  }
  return rows;
}

Tokens beam_search(nn::Translator& model, const Ids& source, std::int64_t width, double alpha,
                   const SearchLimits& limits) {
  if (width < 1) fail("beam_search: the width is ", width, "; need at least 1");
  const auto count = static_cast<std::size_t>(width);
  const Tensor memory = model.encode(source);
  std::vector<Hypothesis> beam{{{limits.start}, 0}}, finished;
  for (std::int64_t length = 0; length < limits.longest && !beam.empty() && finished.size() < count; ++length) {
    std::vector<Tokens> rows;
    for (const Hypothesis& hypothesis : beam) rows.push_back(hypothesis.tokens);
    const auto size = static_cast<std::int64_t>(rows.size());
    Shape repeated = memory.shape();
    repeated[0] = size;
    const std::vector<Tokens> sources(rows.size(), Tokens(source.values().begin(), source.values().end()));
    const Tensor logits = next_logits(model, memory.expand(repeated), as_ids(sources), as_ids(rows));

    // Those that end leave the beam; twice as many candidates keep it full. An end that is not among the best `count`
    // does not count: with a beam of 1, it would beat the more probable word.
    const std::vector<Hypothesis> candidates = extend(beam, log_softmax(logits, -1).to_vector(), 2 * count);
    beam.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].tokens.back() == limits.end) {
        if (i < count && finished.size() < count) finished.push_back(candidates[i]);
      } else if (beam.size() < count) {
        beam.push_back(candidates[i]);
      }
    }
  }
  if (finished.empty()) finished = beam;  // nothing came to an end in time
  Tokens best = std::max_element(finished.begin(), finished.end(), [&](const Hypothesis& a, const Hypothesis& b) {
                  return a.score(alpha) < b.score(alpha);
                })->tokens;
  best.erase(best.begin());
  if (!best.empty() && best.back() == limits.end) best.pop_back();
  return best;
}

}  // namespace reel::apps
