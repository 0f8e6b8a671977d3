#pragma once
// The texts of a run: read, cut into parts, and turned into tokens.

#include <optional>
#include <string>
#include <vector>

#include "apps/classify/config.h"
#include "data/labelled_text.h"
#include "data/sequences.h"
#include "data/word_tokenizer.h"

namespace reel::apps {

/// A text as the model reads it: one end of it, if it is longer than config.length.
data::CutTokens encode(const std::string& text, const data::WordTokenizer& tokenizer, const ClassifyConfig& config);

struct EncodedTexts {
  std::vector<data::Tokens> tokens;
  std::vector<std::int32_t> labels;
  std::int64_t cut = 0;  // texts of which a part is left out
};
EncodedTexts encode(const data::LabelledText& data, const data::WordTokenizer& tokenizer, const ClassifyConfig& config);

/// The test part of config.data, or of the built-in reviews, if there is one; with the classes of a checkpoint.
std::optional<data::LabelledText> read_classify_test(const ClassifyConfig& config,
                                                     const std::vector<std::string>& classes);

struct LabelledCorpus {
  std::string name;  // of the file or folder, for messages
  data::WordTokenizer tokenizer;
  std::vector<std::string> classes;
  EncodedTexts train;
  EncodedTexts scored;  // the validation part, or with --final the test part
  struct Example {
    std::size_t place;  // in `scored`
    std::string text;
  };
  std::vector<Example> examples;  // to show
};

/// What tells the data of one run from those of another (fingerprint.h).
std::uint32_t fingerprint(const LabelledCorpus& corpus);

/// The classes and the vocabulary are those of a checkpoint, or come from what trains. Throws with --final if there is
/// no test part.
LabelledCorpus read_labelled_corpus(const ClassifyConfig& config, const std::vector<std::string>& classes,
                                    std::optional<data::WordTokenizer> tokenizer);

}  // namespace reel::apps
