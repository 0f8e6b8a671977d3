// Greedy and beam search against all sequences that there are, on a made-up model of five tokens.

#include "apps/translate/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "autograd/creation.h"
#include "autograd/ops.h"
#include "autograd/random.h"
#include "nn/recurrent_translator.h"
#include "nn/transformer.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::apps;

namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t vocabulary = 5, start = 2, end_token = 3, no_padding = -1;
constexpr double impossible = -1e9;

/// What follows a beginning is as `next` says: log-probabilities up to a constant, one for each token.
class MadeUp : public nn::Translator {
 public:
  using Next = std::function<std::vector<double>(const Tokens& source, const Tokens& beginning)>;
  explicit MadeUp(Next next) : Translator(no_padding), next_(std::move(next)) {}

  Tensor encode(const Ids& source) const override { return zeros({source.size(0), source.size(1), 1}); }
  using Translator::decode;
  Tensor decode(const Tensor& memory, const Ids& source, const Ids& target, const nn::Packing& tokens) const override {
    REQUIRE(memory.size(0) == target.size(0));
    REQUIRE(source.size(0) == target.size(0));
    const int64_t B = target.size(0), T = target.size(1), S = source.size(1);
    std::vector<double> logits;
    for (int64_t b = 0; b < B; ++b) {
      const Tokens read(source.data() + b * S, source.data() + (b + 1) * S);
      for (int64_t t = 1; t <= T; ++t) {
        for (double logit : next_(read, Tokens(target.data() + b * T, target.data() + b * T + t))) {
          logits.push_back(logit);
        }
      }
    }
    return tokens.pack(tensor({B, T, vocabulary}, logits, DType::f64));
  }

 private:
  Next next_;
};

/// Other random numbers for each source, padded or not, and beginning; `end_bonus` more for the end.
MadeUp random_model(std::uint64_t seed, double end_bonus = 0) {
  return MadeUp([=](const Tokens& source, const Tokens& beginning) {
    std::uint64_t state = seed;
    for (std::int32_t token : source) {
      if (token != data::pad_id) state = state * 31 + static_cast<std::uint64_t>(token) + 1;
    }
    for (std::int32_t token : beginning) state = state * 37 + static_cast<std::uint64_t>(token) + 1;
    Generator generator(state);
    std::vector<double> logits;
    for (std::int32_t token = 0; token < vocabulary; ++token) {
      logits.push_back(4 * generator.uniform() + (token == end_token ? end_bonus : 0));
    }
    return logits;
  });
}

struct Found {
  Tokens tokens;
  double score = -std::numeric_limits<double>::infinity();
};

/// The best of all sequences of at most `longest` tokens, of which those of fewer must end; without start and end.
void search_all(const MadeUp& model, const Ids& source, double alpha, std::size_t longest, const Tokens& beginning,
                double log_prob, Found& best) {
  const Tensor logits = model.decode(model.encode(source), source, Ids({1, std::ssize(beginning)}, beginning));
  const std::vector<double> log_probs = log_softmax(logits.select(1, -1), -1).to_vector();
  for (std::int32_t token = 0; token < vocabulary; ++token) {
    const double total = log_prob + log_probs[static_cast<std::size_t>(token)];
    Tokens longer = beginning;
    longer.push_back(token);
    const bool ends = token == end_token;
    if (!ends && longer.size() <= longest) {
      search_all(model, source, alpha, longest, longer, total, best);
      continue;
    }
    const double score = total / std::pow((5.0 + static_cast<double>(longer.size() - 1)) / 6, alpha);
    if (score > best.score) best = {Tokens(longer.begin() + 1, longer.end() - (ends ? 1 : 0)), score};
  }
}

/// The same model, but with the whole target decoded for every token.
class WithoutCache : public nn::Translator {
 public:
  explicit WithoutCache(const nn::Translator& model) : Translator(model.padding()), model_(model) {}
  Tensor encode(const Ids& source) const override { return model_.encode(source); }
  using Translator::decode;
  Tensor decode(const Tensor& memory, const Ids& source, const Ids& target, const nn::Packing& tokens) const override {
    return model_.decode(memory, source, target, tokens);
  }

 private:
  const nn::Translator& model_;
};

/// Greedy search, as it is said in one sentence: the most probable token after all so far, until that is the end.
Tokens most_probable(const nn::Translator& model, const Ids& source, const SearchLimits& limits) {
  Tokens tokens{limits.start};
  while (std::ssize(tokens) <= limits.longest) {
    const Tensor logits = model(source, Ids({1, std::ssize(tokens)}, tokens)).select(0, 0).select(0, -1);
    const Ids next = argmax(logits, 0);
    if (next.values()[0] == limits.end) break;
    tokens.push_back(next.values()[0]);
  }
  return {tokens.begin() + 1, tokens.end()};
}

const Ids a_source({1, 2}, {4, 1});

}  // namespace

TEST_CASE("a beam that keeps everything finds the best of all sequences", "[search]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (double alpha : {0.0, 0.6, 2.0}) {
      CAPTURE(seed, alpha);
      MadeUp model = random_model(seed);
      Found best;
      search_all(model, a_source, alpha, 4, {start}, 0, best);
      CHECK(beam_search(model, a_source, 1000, alpha, {.start = start, .end = end_token, .longest = 4}) == best.tokens);
    }
  }
}

TEST_CASE("a beam of one is greedy search", "[search]") {
  const SearchLimits limits{.start = start, .end = end_token, .longest = 8};
  bool ended = false, unended = false;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    MadeUp model = random_model(seed, -0.5);
    const Tokens greedy = greedy_search(model, a_source, limits)[0];
    CHECK(beam_search(model, a_source, 1, 0.6, limits) == greedy);
    (greedy.size() < 8 ? ended : unended) = true;
  }
  CHECK(ended);
  CHECK(unended);
}

TEST_CASE("greedy search takes each step's most probable token, in every row of a batch", "[search]") {
  const SearchLimits limits{.start = start, .end = end_token, .longest = 6};
  MadeUp model = random_model(7);
  const Ids sources({3, 2}, {4, 1, 1, 1, 0, 4});
  const std::vector<Tokens> together = greedy_search(model, sources, limits);
  REQUIRE(together.size() == 3);
  for (int64_t row = 0; row < 3; ++row) {
    const Ids alone({1, 2}, {sources.data()[2 * row], sources.data()[2 * row + 1]});
    CHECK(greedy_search(model, alone, limits) == std::vector<Tokens>{together[static_cast<std::size_t>(row)]});
  }
}

TEST_CASE("models that keep what they computed find what they find without", "[search]") {
  constexpr int64_t sources = 12, S = 5, words = 12;
  const SearchLimits limits{.start = start, .end = end_token, .longest = 15};
  Generator generator(3);
  Ids source = Ids::zeros({sources, S});
  for (std::int32_t& token : source.values()) token = static_cast<std::int32_t>(generator.below(words));
  std::size_t ended = 0, found = 0;
  for (DType dtype : {DType::f32, DType::f64}) {
    manual_seed(6);
    nn::Transformer::Config published{.source_vocabulary = words,
                                      .target_vocabulary = words,
                                      .length = 16,
                                      .width = 16,
                                      .heads = 4,
                                      .hidden = 32,
                                      .depth = 2,
                                      .dtype = dtype};
    nn::Transformer::Config pre = published;
    pre.positions = nn::Transformer::Positions::learned;
    pre.norm = nn::Norm::pre;
    std::vector<std::unique_ptr<nn::Translator>> models;
    models.push_back(std::make_unique<nn::Transformer>(published));
    models.push_back(std::make_unique<nn::Transformer>(pre));
    models.push_back(std::make_unique<nn::RecurrentTranslator>(nn::RecurrentTranslator::Config{
        .source_vocabulary = words, .target_vocabulary = words, .width = 16, .dtype = dtype}));
    for (const auto& model : models) {
      model->eval();
      WithoutCache plain(*model);
      const std::vector<Tokens> together = greedy_search(*model, source, limits);
      CHECK(greedy_search(plain, source, limits) == together);
      for (int64_t row = 0; row < sources; ++row) {
        const Ids one({1, S}, {source.data() + row * S, source.data() + (row + 1) * S});
        const Tokens& greedy = together[static_cast<std::size_t>(row)];
        CHECK(most_probable(*model, one, limits) == greedy);
        ended += greedy.size() < 15;
        ++found;
        for (int64_t width : {1, 2, 5}) {
          CHECK(beam_search(*model, one, width, 0.6, limits) == beam_search(plain, one, width, 0.6, limits));
        }
      }
    }
  }
  CHECK(ended > 0);
  CHECK(ended < found);
}

TEST_CASE("a translation may be empty, and stops where it gets too long", "[search]") {
  MadeUp silent([](const Tokens&, const Tokens&) { return std::vector<double>{0, 0, 0, 5, 0}; });
  MadeUp endless([](const Tokens&, const Tokens& beginning) {
    return std::vector<double>{0, beginning.size() % 2 == 0 ? 5.0 : 0.0, 0, impossible, 3};
  });
  const SearchLimits limits{.start = start, .end = end_token, .longest = 3};
  CHECK(greedy_search(silent, a_source, limits)[0].empty());
  CHECK(beam_search(silent, a_source, 4, 0.6, limits).empty());
  CHECK(greedy_search(endless, a_source, limits)[0] == Tokens{4, 1, 4});
  CHECK(beam_search(endless, a_source, 4, 0.6, limits) == Tokens{4, 1, 4});
  CHECK(greedy_search(endless, a_source, {.start = start, .end = end_token, .longest = 0})[0].empty());
  CHECK(beam_search(endless, a_source, 4, 0.6, {.start = start, .end = end_token, .longest = 0}).empty());
}

TEST_CASE("what is never part of a translation is not written, however probable it is", "[search]") {
  constexpr std::int32_t pad = 0;
  MadeUp eager([](const Tokens&, const Tokens& beginning) {
    return std::vector<double>{9, 1, 8, beginning.size() > 2 ? 7.0 : 0.0, 5};
  });
  const SearchLimits limits{.start = start, .end = end_token, .longest = 6, .never = {pad, start}};
  CHECK(greedy_search(eager, a_source, limits)[0] == Tokens{4, 4});
  for (const std::int64_t width : {1, 2, 5, 100}) {
    CAPTURE(width);
    CHECK(beam_search(eager, a_source, width, 0, limits) == Tokens{4, 4});
  }
  const SearchLimits nothing{.start = start, .end = end_token, .longest = 2, .never = {0, 1, 2, 3, 4}};
  CHECK(beam_search(eager, a_source, 2, 0, nothing).empty());
  CHECK(greedy_search(eager, a_source, nothing)[0].empty());
}

TEST_CASE("a translation by scores that are not numbers is refused", "[search]") {
  MadeUp broken([](const Tokens&, const Tokens& beginning) {
    return std::vector<double>{0, 1, 0, 0, beginning.size() < 2 ? 2.0 : std::nan("")};
  });
  const SearchLimits limits{.start = start, .end = end_token, .longest = 3};
  CHECK_THROWS_WITH(greedy_search(broken, a_source, limits), ContainsSubstring("the model's scores are not numbers"));
  CHECK_THROWS_WITH(beam_search(broken, a_source, 2, 0.6, limits),
                    ContainsSubstring("the model's scores are not numbers"));
}

TEST_CASE("a translation as long as it may get is not lost to an unlikely one that has ended", "[search]") {
  MadeUp model([](const Tokens&, const Tokens& beginning) {  // three words, almost surely
    const double end = beginning.size() <= 3 ? -5 : 5;
    return std::vector<double>{4, 0, impossible, end, 0};
  });
  for (const std::int64_t longest : {3, 4, 10}) {
    CAPTURE(longest);
    const SearchLimits limits{.start = start, .end = end_token, .longest = longest};
    CHECK(beam_search(model, a_source, 4, 0.6, limits) == Tokens{0, 0, 0});
  }
}

TEST_CASE("unlikely ones that end early do not end the search", "[search]") {
  // 0 0 0 0 0 0 and the end: after each 0 the end is next to impossible, but nothing else is likelier than that.
  MadeUp model([](const Tokens&, const Tokens& beginning) {
    const bool whole = beginning.size() == 7;
    return std::vector<double>{whole ? -6.0 : 0.0, -7, impossible, whole ? 0.0 : -5.0, -8};
  });
  const SearchLimits limits{.start = start, .end = end_token, .longest = 12};
  const Ids source({1, 1}, {0});
  const Tokens whole(6, 0);
  CHECK(greedy_search(model, source, limits)[0] == whole);
  for (std::int64_t width : {1, 2, 3, 4, 5, 10}) CHECK(beam_search(model, source, width, 0.6, limits) == whole);
}

TEST_CASE("a beam finds what greedy search walks past", "[search]") {
  // 0 looks better than 1, but only 1 leads somewhere: 0.5 · 0.25 < 0.4 · 0.9.
  MadeUp model([](const Tokens&, const Tokens& beginning) -> std::vector<double> {
    if (beginning.size() == 1) return {std::log(0.5), std::log(0.4), impossible, std::log(0.1), impossible};
    if (beginning.size() == 2 && beginning[1] == 0) {
      return {std::log(0.25), std::log(0.25), impossible, std::log(0.25), std::log(0.25)};
    }
    return {std::log(0.05), std::log(0.05), impossible, std::log(0.9), impossible};
  });
  const SearchLimits limits{.start = start, .end = end_token, .longest = 5};
  CHECK(greedy_search(model, a_source, limits)[0][0] == 0);
  CHECK(beam_search(model, a_source, 2, 0, limits) == Tokens{1});
}

TEST_CASE("the length penalty favours longer translations", "[search]") {
  // log 0.5 = -0.693 for none, log 0.45 = -0.799 for one word: divided by (5 + 1) / 6 and (5 + 2) / 6, -0.684.
  MadeUp model([](const Tokens&, const Tokens& beginning) -> std::vector<double> {
    if (beginning.size() == 1) return {std::log(0.5), impossible, impossible, std::log(0.5), impossible};
    return {std::log(0.1), impossible, impossible, std::log(0.9), impossible};
  });
  const SearchLimits limits{.start = start, .end = end_token, .longest = 5};
  CHECK(beam_search(model, a_source, 3, 0, limits).empty());
  CHECK(beam_search(model, a_source, 3, 1, limits) == Tokens{0});
}

TEST_CASE("translations come in the order of their sources, whatever is searched together", "[search]") {
  Generator generator(5);
  std::vector<Tokens> sources;
  for (int i = 0; i < 70; ++i) {  // more than one batch
    sources.emplace_back();
    for (auto more = 1 + generator.below(6); more > 0; --more) {
      sources.back().push_back(1 + static_cast<std::int32_t>(generator.below(4)));
    }
  }
  MadeUp model = random_model(4);
  model.train();
  for (const std::int64_t beam : {1, 3}) {
    const std::vector<Tokens> found = find_translations(model, sources, 4, {.beam = beam, .alpha = 0.6});
    CHECK(model.training());
    REQUIRE(found.size() == sources.size());
    for (std::size_t i = 0; i < sources.size(); i += 9) {
      CHECK(find_translations(model, std::span(&sources[i], 1), 4, {.beam = beam, .alpha = 0.6})[0] == found[i]);
    }
    CHECK(std::count(found.begin(), found.end(), found[0]) < 20);
  }
}

TEST_CASE("a beam of nothing is refused", "[search]") {
  MadeUp model = random_model(1);
  CHECK_THROWS_WITH(beam_search(model, a_source, 0, 0.6, {}), ContainsSubstring("the width is 0"));
}
