#pragma once
// How well a model translates: how probable it finds the right words, and how near its own translations come to them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/training/score.h"
#include "apps/translate/corpus.h"
#include "apps/translate/model.h"
#include "apps/translate/search.h"
#include "data/parallel_text.h"
#include "data/word_tokenizer.h"
#include "nn/translator.h"

namespace reel::apps {

/// With the right words so far given to the decoder. Throws if there are no pairs.
Score evaluate(nn::Translator& model, const EncodedPairs& pairs, std::int64_t batch_size = scoring_batch);

/// How near translations come to the target sides, which are split into words as the model's vocabulary is, unknown
/// words included.
struct TranslationScore {
  double bleu = 0;   // 0 to 100
  double exact = 0;  // share of the translations that are their reference, word for word
  std::size_t sentences = 0;
};
TranslationScore compare(const std::vector<std::string>& translations, const data::ParallelText& text,
                         const data::WordTokenizer& target);

/// "BLEU 36.21 (of words as split here, lower case; greedy)  exact 0.0210  sentences 1000"
std::string to_string(const TranslationScore& score, const data::WordRules& rules, const SearchConfig& search = {});

/// How good a model is on one part.
struct PartScore {
  Score likelihood;
  TranslationScore translation;
};
/// Of the part called `name`; prints each of the two as soon as it is known. Throws, calling the model `folder`, if its
/// loss is not finite.
PartScore score_part(const TrainedTranslator& trained, const std::string& name, const data::ParallelText& text,
                     const SearchConfig& search, const std::string& folder);

}  // namespace reel::apps
