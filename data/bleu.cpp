#include "data/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "autograd/error.h"
#include "autograd/utf8.h"
#include "data/characters.h"

namespace reel::data {
namespace {

constexpr std::size_t max_order = 4;

std::vector<std::u32string> tokens_of(const std::string& line) {
  std::vector<std::u32string> tokens;
  bool inside = false;
  for (char32_t character : decode_utf8(line)) {
    if (is_space(character)) {
      inside = false;
      continue;
    }
    if (!inside) tokens.emplace_back();
    inside = true;
    tokens.back() += character;
  }
  return tokens;
}

using NGram = std::span<const std::u32string>;

struct Before {
  bool operator()(NGram a, NGram b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

/// How often each n-gram occurs. It views `tokens`.
std::map<NGram, std::int64_t, Before> counted(const std::vector<std::u32string>& tokens, std::size_t order) {
  std::map<NGram, std::int64_t, Before> counts;
  for (std::size_t i = 0; i + order <= tokens.size(); ++i) ++counts[NGram(tokens).subspan(i, order)];
  return counts;
}

}  // namespace

Bleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references) {
  if (hypotheses.empty() || hypotheses.size() != references.size()) {
    fail("corpus_bleu: there are ", hypotheses.size(), " hypotheses and ", references.size(),
         " references; need as many of both, and one at least");
  }
  Bleu bleu{};
  std::array<std::int64_t, max_order> matches{}, totals{};
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    auto hypothesis = tokens_of(hypotheses[i]), reference = tokens_of(references[i]);
    bleu.hypothesis_length += std::ssize(hypothesis);
    bleu.reference_length += std::ssize(reference);
    for (std::size_t n = 0; n < max_order; ++n) {
      auto known = counted(reference, n + 1);
      for (const auto& [ngram, count] : counted(hypothesis, n + 1)) {
        totals[n] += count;
        if (auto at = known.find(ngram); at != known.end()) matches[n] += std::min(count, at->second);
      }
    }
  }

  auto h = static_cast<double>(bleu.hypothesis_length), r = static_cast<double>(bleu.reference_length);
  bleu.brevity_penalty = h >= r ? 1 : h > 0 ? std::exp(1 - r / h) : 0;
  if (matches[0] == 0) return bleu;  // nothing to smooth
  double log_sum = 0;
  double smoothing = 1;
  for (std::size_t n = 0; n < max_order; ++n) {
    if (totals[n] == 0) return bleu;  // no sentence is so long: a precision of 0
    double matched = matches[n] > 0 ? static_cast<double>(matches[n]) : 1 / (smoothing *= 2);
    bleu.precisions[n] = 100 * matched / static_cast<double>(totals[n]);
    log_sum += std::log(bleu.precisions[n]);
  }
  bleu.score = bleu.brevity_penalty * std::exp(log_sum / max_order);
  return bleu;
}

}  // namespace reel::data
