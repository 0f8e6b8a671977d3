#include "apps/generate/write.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "nn/check_tokens.h"
#include "nn/gtransformer.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::apps;

namespace {

/// After each token comes the next one, the last again after itself, nearly for certain. A LanguageModel of one's own.
class Counting : public nn::LanguageModel {
 public:
  Tensor operator()(const Ids& tokens) const override {
    nn::check_tokens("Counting", tokens, context());
    CHECK_FALSE(training());
    longest = std::max(longest, tokens.size(1));
    Tensor result = full({tokens.size(0), tokens.size(1), vocabulary}, -100);
    for (int64_t i = 0; i < tokens.numel(); ++i) {
      const auto next = std::min<int64_t>(tokens.values()[static_cast<std::size_t>(i)] + 1, vocabulary - 1);
      result.data<float>()[i * vocabulary + next] = 0;
    }
    return result;
  }
  int64_t context() const override { return 4; }

  int64_t vocabulary = 256;
  mutable int64_t longest = 0;
};

/// What write_tokens should write, the slow way: the model is run over the whole window for every token.
std::vector<std::int32_t> written_by_hand(const nn::LanguageModel& model, std::vector<std::int32_t> tokens,
                                          std::size_t length, const nn::Sampling& sampling) {
  Generator generator(7);
  const std::size_t prompt = tokens.size(), context = static_cast<std::size_t>(model.context());
  std::size_t start = 0;
  while (tokens.size() < prompt + length) {
    while (tokens.size() - start > context) start += context / 2;
    const auto window = std::span(tokens).subspan(start);
    const Tensor log_probs = model(Ids({1, std::ssize(window)}, {window.begin(), window.end()}));
    tokens.push_back(nn::sample(log_probs.select(0, 0).select(0, -1).to_vector(), sampling, generator));
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt), tokens.end()};
}

std::string printed(const data::Tokenizer& tokenizer, std::int32_t from, std::int64_t length) {
  Counting model;
  model.vocabulary = tokenizer.vocabulary_size();
  Generator generator(1);
  std::ostringstream out;
  print_text(out, model, tokenizer, {from}, length, {}, generator);
  return out.str();
}

}  // namespace

TEST_CASE("a model goes on from the prompt, in the window that it can look back on", "[write]") {
  Counting model;
  model.train();
  Generator generator(1);
  std::vector<std::int32_t> written;
  auto note = [&](std::int32_t token) {
    written.push_back(token);
    return token < 19;
  };
  write_tokens(model, {10, 11}, 6, {}, generator, note);
  CHECK(written == std::vector<std::int32_t>{12, 13, 14, 15, 16, 17});
  CHECK(model.longest == model.context());
  CHECK(model.training());

  written.clear();
  write_tokens(model, {10, 11, 12, 13, 14, 15, 16}, 100, {}, generator, note);
  CHECK(written == std::vector<std::int32_t>{17, 18, 19});  // note said that this is enough
  write_tokens(model, {10}, 0, {}, generator, note);
  CHECK(written.size() == 3);
  CHECK_THROWS_WITH(write_tokens(model, {}, 5, {}, generator, note), ContainsSubstring("the prompt is empty"));
}

TEST_CASE("the same seed writes the same with and without a cache, beyond the context too", "[write]") {
  manual_seed(5);
  nn::GTransformer model({.vocabulary = 30, .context = 16, .embedding = 16, .heads = 2, .depth = 3, .dropout = 0.5});
  std::vector<std::int32_t> long_prompt(23);
  std::iota(long_prompt.begin(), long_prompt.end(), 0);
  for (const std::vector<std::int32_t>& prompt : {{3}, {1, 2, 3, 4, 5}, long_prompt}) {
    for (const nn::Sampling& sampling :
         {nn::Sampling{}, nn::Sampling{.temperature = 0}, nn::Sampling{.temperature = 2, .top_k = 9}}) {
      Generator generator(7);
      std::vector<std::int32_t> written;
      write_tokens(model, prompt, 60, sampling, generator, [&](std::int32_t token) {
        written.push_back(token);
        return true;
      });
      model.eval();
      CHECK(written == written_by_hand(model, prompt, 60, sampling));
      model.train();
    }
  }
}

TEST_CASE("text is printed in whole characters", "[write]") {
  CHECK(printed(data::CharTokenizer("abcdéü€"), 1, 5) == "cdéü€");
  CHECK(printed(data::ByteTokenizer(), 'a', 3) == "bcd");
  // From 0x7F on: bytes that continue no character, then some that begin one that is not continued.
  const std::string lone = printed(data::ByteTokenizer(), 0x7E, 4);
  CHECK(lone == "\x7F\uFFFD\uFFFD\uFFFD");
  CHECK(printed(data::ByteTokenizer(), 0xC1, 3) == "\uFFFD\uFFFD\uFFFD");
}

TEST_CASE("a text begins with a line break where there is one", "[write]") {
  CHECK(default_prompt(data::ByteTokenizer()) == std::vector<std::int32_t>{'\n'});
  CHECK(default_prompt(data::CharTokenizer("\t\nab")) == std::vector<std::int32_t>{1});
  CHECK(default_prompt(data::CharTokenizer("ab")) == std::vector<std::int32_t>{0});
}
