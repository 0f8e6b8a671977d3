#pragma once
// The text of a run: read, cut into parts, and turned into tokens.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/generate/config.h"
#include "data/tokenizer.h"

namespace reel::apps {

struct Corpus {
  std::string name;  // of the file, for messages
  std::unique_ptr<data::Tokenizer> tokenizer;
  data::Tokens train;
  data::Tokens validation;
  data::Tokens test;  // empty without --final
};

/// What tells the tokens of one run from those of another (fingerprint.h).
std::uint32_t fingerprint(const Corpus& corpus);

/// All parts, one after the other.
data::Tokens whole(const Corpus& corpus);

/// What a text is to the model: what it will learn from, what it should have learnt from, or any text, to be scored.
enum class Role { to_learn, learnt, to_score };

/// The text of config.data, or the built-in one, cut as config says. A given tokenizer keeps its vocabulary; without
/// one, that is of the characters of the training part. Others count as unknown, if the vocabulary has a token for that
/// and outside a training part that is or was learnt; where not, this throws, naming them. Throws if a part has fewer
/// than two tokens, but for a training part that was learnt already, and for a text to be scored.
Corpus read_corpus(const GenerateConfig& config, std::unique_ptr<data::Tokenizer> tokenizer = nullptr,
                   Role role = Role::to_learn);

}  // namespace reel::apps
