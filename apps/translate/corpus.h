#pragma once
// The sentence pairs of a run: read, turned into tokens, and put into batches.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "apps/translate/config.h"
#include "data/parallel_text.h"
#include "data/sequences.h"
#include "data/word_tokenizer.h"

namespace reel::apps {

/// The words of both languages.
struct TokenizerPair {
  data::WordTokenizer source, target;
};
/// Those of `text`, which should be the training part, as config limits them.
TokenizerPair train_tokenizers(const data::ParallelText& text, const TranslateConfig& config);

/// The test parts of `folder` or, if that is empty, of the data that the model was trained on. Throws if there are
/// none.
std::map<std::string, data::ParallelText> read_tests(const TranslateConfig& config, const std::string& folder);
/// The pairs of config.data, or the built-in ones; of a folder, the test parts only for --final.
data::ParallelData read_pairs(const TranslateConfig& config);

/// A sentence as the model reads it: between <start> and <end>, and cut to `length` words.
data::CutTokens encode_sentence(const std::string& text, const data::WordTokenizer& tokenizer, std::int64_t length);

/// Sentence pairs; a target that is cut has no <end>, lest the model learn to end there.
struct EncodedPairs {
  std::vector<data::Tokens> sources, targets;
  std::int64_t cut = 0;  // pairs of which a side is
};
EncodedPairs encode_pairs(const data::ParallelText& text, const TokenizerPair& tokenizers, std::int64_t length);

/// The pairs at `rows` as a batch: the decoder reads `inputs` and is to say `outputs`, one word later.
struct PairBatch {
  Ids sources, inputs;  // (B, S) and (B, T), padded where a sentence is shorter than the longest
  Ids outputs;          // (N), of one sentence after the other
};
PairBatch make_batch(const EncodedPairs& pairs, std::span<const std::int64_t> rows);

}  // namespace reel::apps
