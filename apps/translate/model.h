#pragma once
// The models that `translate` can train, by name, their checkpoints, and how they are scored.

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/common/checkpoint.h"
#include "apps/common/score.h"
#include "apps/translate/config.h"
#include "apps/translate/search.h"
#include "data/bleu.h"
#include "data/padding.h"
#include "data/parallel_text.h"
#include "data/word_tokenizer.h"
#include "nn/translator.h"

namespace reel::apps {

std::unique_ptr<nn::Translator> make_translator(const TranslateConfig& config, std::int64_t source_vocabulary,
                                                std::int64_t target_vocabulary);

/// A trained model, the words of both its languages, and the options it was trained with.
struct TrainedTranslator {
  TranslateConfig config;
  std::optional<data::WordTokenizer> source, target;
  std::unique_ptr<nn::Translator> model;
};

/// From a checkpoint, or throws, naming `path`.
TrainedTranslator restore_translator(const Checkpoint& checkpoint, const std::filesystem::path& path);

/// A sentence as the model reads it: between <start> and <end>, and cut to `length` words.
struct EncodedSentence {
  data::Tokens tokens;
  bool is_cut = false;
};
EncodedSentence encode_sentence(const std::string& text, const data::WordTokenizer& tokenizer, std::int64_t length);

/// Sentence pairs; a target that is cut has no <end>, lest the model learn to end there.
struct EncodedPairs {
  std::vector<data::Tokens> sources, targets;
  std::int64_t cut = 0;  // pairs of which a side is
};
EncodedPairs encode_pairs(const data::ParallelText& text, const data::WordTokenizer& source,
                          const data::WordTokenizer& target, std::int64_t length);

/// The pairs at `rows` as a batch: the decoder reads `inputs` and is to say `outputs`, one word later.
struct PairBatch {
  Ids sources, inputs;  // (B, S) and (B, T), padded where a sentence is shorter than the longest
  Ids outputs;          // (N), of one sentence after the other
};
PairBatch make_batch(const EncodedPairs& pairs, std::span<const std::int64_t> rows);

/// "  3 cut at --max 5"; nothing if none are.
std::string note_of_cuts(const EncodedPairs& pairs, std::int64_t length);

/// With the right words so far given to the decoder. Throws if there are no pairs.
Score evaluate(nn::Translator& model, const EncodedPairs& pairs, std::int64_t batch_size);

/// How translations are searched for.
struct SearchConfig {
  std::int64_t beam = 1;  // 1 for greedy search
  double alpha = 0.6;     // of the beam's length normalization
};

/// The sources' translations, without <start> and <end>, of at most `longest` words.
std::vector<data::Tokens> find_translations(nn::Translator& model, std::span<const data::Tokens> sources,
                                            std::int64_t longest, const SearchConfig& search = {});
/// The same as texts.
std::vector<std::string> translate_all(nn::Translator& model, std::span<const data::Tokens> sources,
                                       const data::WordTokenizer& target, std::int64_t longest,
                                       const SearchConfig& search = {});

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

}  // namespace reel::apps
