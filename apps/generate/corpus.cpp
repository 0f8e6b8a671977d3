#include "apps/generate/corpus.h"

#include "autograd/error.h"
#include "data/corpus.h"
#include "data/file.h"
#include "data/text_dataset.h"

namespace reel::apps {
namespace {

std::string read(const GenerateConfig& config) {
  if (config.data.empty()) return std::string(data::builtin_corpus());
  return config.tokenizer == "byte" ? data::read_file(config.data) : data::read_text(config.data);
}

std::vector<std::int32_t> encode_or_replace(const data::Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, data::Unseen::replace);
}

/// Learns from `train`; only if `rest` has other characters is there an id for unknown ones.
std::unique_ptr<data::Tokenizer> train_tokenizer(const std::string& name, std::string_view train, std::string_view rest) {
  auto tokenizer = data::train_tokenizer(name, train);
  try {
    tokenizer->encode(rest);
  } catch (const Error&) {
    tokenizer = data::train_tokenizer(name, train, data::Unseen::replace);
  }
  return tokenizer;
}

}  // namespace

Corpus read_corpus(const GenerateConfig& config, std::unique_ptr<data::Tokenizer> tokenizer) {
  Corpus corpus;
  corpus.name = config.data.empty() ? "the built-in corpus" : config.data;
  const std::string text = read(config);

  // Bytes may be cut anywhere, characters only between two of them.
  auto cut = [&](std::string_view whole, double share) -> data::Split<std::string_view> {
    if (config.tokenizer != "byte") return data::split_text(whole, share);
    const auto first = static_cast<std::size_t>(share * static_cast<double>(whole.size()));
    return {whole.substr(0, first), whole.substr(first)};
  };
  const auto [train, rest] = cut(text, config.split);
  auto [validation, test] = config.final_run ? cut(rest, 0.5) : data::Split<std::string_view>{rest, {}};

  if (train.empty()) fail(corpus.name, " is too short: nothing is left to train on with --split ", config.split);
  corpus.tokenizer = tokenizer ? std::move(tokenizer) : train_tokenizer(config.tokenizer, train, rest);
  corpus.train = encode_or_replace(*corpus.tokenizer, train);
  corpus.validation = encode_or_replace(*corpus.tokenizer, validation);
  corpus.test = encode_or_replace(*corpus.tokenizer, test);
  return corpus;
}

}  // namespace reel::apps
