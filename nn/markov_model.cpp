#include "nn/markov_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/error.h"
#include "nn/check_tokens.h"

namespace reel::nn {
namespace {

using Tokens = std::u32string_view;
using GramCounts = std::unordered_map<Tokens, int64_t>;

/// Stands before the text, in place of the tokens that are not there. No id is as large.
constexpr char32_t boundary = 0xffffffff;
/// From here on f32 skips integers.
constexpr int64_t max_vocabulary = int64_t{1} << 24;

std::u32string to_tokens(std::span<const std::int32_t> ids, int64_t vocabulary) {
  std::u32string tokens;
  tokens.reserve(ids.size());
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocabulary) {
      fail("MarkovModel: the id ", id, " at position ", tokens.size(), " is not in the vocabulary; need 0 <= id < ",
           vocabulary);
    }
    tokens.push_back(static_cast<char32_t>(id));
  }
  return tokens;
}

Tensor to_tensor(std::span<const std::int32_t> ids) {
  Tensor result({static_cast<int64_t>(ids.size())}, DType::f32);
  std::transform(ids.begin(), ids.end(), result.data<float>(), [](std::int32_t id) { return static_cast<float>(id); });
  return result;
}

/// How often each sequence of `length` tokens occurs in the text.
GramCounts count_grams(Tokens text, std::size_t length) {
  GramCounts counts;
  for (std::size_t i = 0; i + length <= text.size(); ++i) ++counts[text.substr(i, length)];
  return counts;
}

/// For each of these sequences minus its first token: how many tokens come before it.
GramCounts count_before(const GramCounts& grams) {
  GramCounts counts;
  for (const auto& [gram, count] : grams) ++counts[gram.substr(1)];
  return counts;
}

/// What is taken away from a count of 1, 2, and 3 or more.
class Discounts {
 public:
  /// From n₁ .. n₄, how many sequences have each of these counts (Chen, Goodman 1998, equation 26).
  explicit Discounts(const GramCounts& grams) {
    std::array<double, 5> n{};
    for (const auto& [gram, count] : grams) {
      if (count <= 4) ++n[static_cast<std::size_t>(count)];
    }
    const double y = n[1] / (n[1] + 2 * n[2]);
    for (std::size_t c = 1; c <= 3; ++c) {
      of_[c] = static_cast<double>(c) - static_cast<double>(c + 1) * y * n[c + 1] / n[c];
      if (!(of_[c] > 0 && of_[c] < static_cast<double>(c))) {  // too little text to tell
        of_ = {0, 0.5, 1, 1.5};
        return;
      }
    }
  }
  double operator()(int64_t count) const { return of_[static_cast<std::size_t>(std::min<int64_t>(count, 3))]; }

 private:
  std::array<double, 4> of_{};
};

/// What follows the contexts of one length.
class Level {
 public:
  struct Followers {
    double total = 0;                               // c(h)
    double discount = 0;                            // D(h)
    std::vector<std::pair<char32_t, double>> rest;  // w and c(h w) - d(c(h w))
  };

  explicit Level(const GramCounts& grams) {
    const Discounts discounts(grams);
    for (const auto& [gram, count] : grams) {
      const double discount = discounts(count);
      Followers& followers = contexts_[gram.substr(0, gram.size() - 1)];
      followers.total += static_cast<double>(count);
      followers.discount += discount;
      followers.rest.emplace_back(gram.back(), static_cast<double>(count) - discount);
    }
  }

  /// Null if nothing ever followed this context.
  const Followers* find(Tokens context) const {
    const auto found = contexts_.find(context);
    return found == contexts_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<Tokens, Followers> contexts_;
};

}  // namespace

class MarkovModel::Counts {
 public:
  Counts(Tokens text, std::size_t order) : text_(std::u32string(order, boundary).append(text)) {
    for (std::size_t length = 0; length <= order; ++length) {
      // Every token of the text ends one sequence of each length, so none is lost for want of others before it.
      const GramCounts grams = count_grams(Tokens(text_).substr(order - length), length + 1);
      whole_.emplace_back(grams);
      if (length > 0) shorter_.emplace_back(count_before(grams));
    }
  }

  /// Writes how probable each token is to come after `context`.
  void predict(Tokens context, std::vector<double>& probabilities) const {
    std::fill(probabilities.begin(), probabilities.end(), 1 / static_cast<double>(probabilities.size()));
    for (std::size_t length = 0; length <= context.size(); ++length) {
      const Level& level = length == context.size() ? whole_[length] : shorter_[length];
      const Level::Followers* followers = level.find(context.substr(context.size() - length));
      if (!followers) return;  // nor did anything follow the longer ones
      for (double& p : probabilities) p *= followers->discount / followers->total;
      for (const auto& [token, rest] : followers->rest) probabilities[token] += rest / followers->total;
    }
  }

 private:
  std::u32string text_;         // what the keys below view
  std::vector<Level> whole_;    // by the context's length: counts of occurrences
  std::vector<Level> shorter_;  // the same for counts of the different tokens before
};

MarkovModel::MarkovModel(std::span<const std::int32_t> tokens, const Config& config) : config_(config) {
  if (config.vocabulary < 1 || config.vocabulary > max_vocabulary) {
    fail("MarkovModel: the vocabulary is ", config.vocabulary, "; need 1 to ", max_vocabulary, " tokens");
  }
  if (config.order < 0 || config.order > max_order) {
    fail("MarkovModel: the order is ", config.order, "; need 0 to ", max_order);
  }
  counts_ = std::make_shared<Counts>(to_tokens(tokens, config.vocabulary), static_cast<std::size_t>(config.order));
  state("tokens", to_tensor(tokens));
}

MarkovModel MarkovModel::from_state(const StateDict& state, const Config& config) {
  if (state.size() != 1 || state[0].first != "tokens" || state[0].second.rank() != 1) {
    fail("MarkovModel: the saved state is of another model; need one tensor \"tokens\" with one axis");
  }
  std::vector<std::int32_t> tokens;
  for (const double value : state[0].second.to_vector()) {
    if (!(value >= 0 && value < static_cast<double>(config.vocabulary) && value == std::floor(value))) {
      fail("MarkovModel: the saved text holds ", value, " at position ", tokens.size(), "; need an id from 0 to ",
           config.vocabulary - 1);
    }
    tokens.push_back(static_cast<std::int32_t>(value));
  }
  return MarkovModel(tokens, config);
}

void MarkovModel::load_state_dict(const StateDict&) {
  fail("MarkovModel: its counts cannot be loaded; make another one with from_state()");
}

Tensor MarkovModel::operator()(const Ids& tokens) const {
  check_tokens("MarkovModel", tokens, context());
  const int64_t B = tokens.size(0), T = tokens.size(1), V = config_.vocabulary;
  const std::u32string all = to_tokens(tokens.values(), V);
  Tensor result({B, T, V}, DType::f32);
  float* next = result.data<float>();
  std::vector<double> probabilities(static_cast<std::size_t>(V));
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t t = 0; t < T; ++t) {
      const int64_t length = std::min(t + 1, config_.order);
      counts_->predict(
          Tokens(all).substr(static_cast<std::size_t>(b * T + t + 1 - length), static_cast<std::size_t>(length)),
          probabilities);
      next = std::transform(probabilities.begin(), probabilities.end(), next,
                            [](double p) { return static_cast<float>(std::log(p)); });
    }
  }
  return result;
}

}  // namespace reel::nn
