#include "apps/generate/corpus.h"

#include "apps/training/fingerprint.h"
#include "autograd/error.h"
#include "data/corpus.h"
#include "data/file.h"
#include "data/split.h"

namespace reel::apps {
namespace {

std::string read(const GenerateConfig& config) {
  if (config.data.empty()) return std::string(data::builtin_corpus());
  if (config.tokenizer == "byte") return data::read_file(config.data);
  return data::read_text(config.data, "save it as UTF-8, or use --tokenizer byte");
}

/// Learns from `train`; only if `rest` has other characters is there an id for unknown ones.
std::unique_ptr<data::Tokenizer> train_tokenizer(const std::string& name, std::string_view train,
                                                 std::string_view rest) {
  auto tokenizer = data::train_tokenizer(name, train);
  try {
    tokenizer->encode(rest);
  } catch (const Error&) {
    tokenizer = data::train_tokenizer(name, train, data::Unseen::replace);
  }
  return tokenizer;
}

}  // namespace

std::uint32_t fingerprint(const Corpus& corpus) {
  return Fingerprint().add(corpus.train).add(corpus.validation).add(corpus.test).value();
}

data::Tokens whole(const Corpus& corpus) {
  data::Tokens tokens = corpus.train;
  for (const auto* part : {&corpus.validation, &corpus.test}) tokens.insert(tokens.end(), part->begin(), part->end());
  return tokens;
}

Corpus read_corpus(const GenerateConfig& config, std::unique_ptr<data::Tokenizer> tokenizer, Role role) {
  Corpus corpus;
  corpus.name = config.data.empty() ? "the built-in corpus" : config.data;
  const std::string text = read(config);

  const auto cut = config.tokenizer == "byte" ? data::split_bytes : data::split_text;
  const auto [train, rest] = cut(text, config.split);
  auto [validation, test] = config.final_run ? cut(rest, 0.5) : data::Split<std::string_view>{rest, {}};

  auto check_size = [&](const char* part, std::size_t size) {
    if (size >= 2 || role == Role::to_score) return;
    fail(corpus.name, " is too short: with --split ", config.split, " its ", part, " part has ", size, " token",
         size == 1 ? "" : "s", "; need at least 2, to predict one from the other");
  };
  if (role == Role::to_learn) check_size("training", train.size());
  corpus.tokenizer = tokenizer ? std::move(tokenizer) : train_tokenizer(config.tokenizer, train, rest);
  auto encode = [&](std::string_view part, data::Unseen unseen) {
    try {
      return corpus.tokenizer->encode(part, unseen);
    } catch (const Error& error) {
      const bool has_changed = role == Role::learnt;
      fail(corpus.name, has_changed ? " is not, or no longer, the text that the run learnt from: " : ": ",
           error.what());
    }
  };
  corpus.train = encode(train, role == Role::to_score ? data::Unseen::replace : data::Unseen::refuse);
  corpus.validation = encode(validation, data::Unseen::replace);
  corpus.test = encode(test, data::Unseen::replace);
  if (role == Role::to_learn) check_size("training", corpus.train.size());
  check_size("validation", corpus.validation.size());
  if (config.final_run) check_size("test", corpus.test.size());
  return corpus;
}

}  // namespace reel::apps
