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

/// Texts as the model reads them.
struct EncodedTexts {
  std::vector<data::Tokens> tokens;
  std::vector<std::int32_t> labels;
};
EncodedTexts encode(const data::LabelledText& data, const data::WordTokenizer& tokenizer, const ClassifyConfig& config);
data::Tokens encode(const std::string& text, const data::WordTokenizer& tokenizer, const ClassifyConfig& config);

/// The data of config.data, or the built-in reviews; with the classes of a checkpoint, or those that occur.
data::LabelledData read_classify_data(const ClassifyConfig& config, const std::vector<std::string>& classes = {});
/// Their test part, if they have one.
std::optional<data::LabelledText> read_classify_test(const ClassifyConfig& config,
                                                     const std::vector<std::string>& classes);

/// The training part cut in two by config.split, in the same way for the same seed: what trains, and what validates.
data::Split<data::LabelledText> train_and_validation(const ClassifyConfig& config, const data::LabelledText& train);

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

/// The classes and the vocabulary are those of a checkpoint, or come from what trains. Throws with --final if there is
/// no test part.
LabelledCorpus read_labelled_corpus(const ClassifyConfig& config, const std::vector<std::string>& classes,
                                    std::optional<data::WordTokenizer> tokenizer);

}  // namespace reel::apps
