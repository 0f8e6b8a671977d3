#pragma once
// Token sequences: encoded, cut to a length, enclosed as sentences, and padded to one rectangle.
//
//   [5 6 7]            5 6 7 0
//   [8 9 4 5]   ->     8 9 4 5      lengths 3 4 1
//   [6]                6 0 0 0

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autograd/ids.h"
#include "data/word_tokenizer.h"

namespace reel::data {

/// The tokens of a text, one or more: <unk> stands for a word that is not in the vocabulary, and for the words of a
/// text that has none, such as <br />.
Tokens encode(const WordTokenizer& tokenizer, std::string_view text);

/// Whether no token is a word of the vocabulary: all are <unk>, or frame a text.
bool all_unknown(std::span<const std::int32_t> tokens);

/// How many tokens each sequence has; what bucketed batches go by.
std::vector<int64_t> lengths_of(std::span<const Tokens> sequences);

/// Which end of a sequence stays if it is too long. Reviews often say at their end what they think; of sentences that
/// are translated, the start is better kept.
enum class Keep { start, end };

/// The tokens of a text, all of them or one end.
struct CutTokens {
  Tokens tokens;
  bool is_cut = false;
};

/// At most `length` of the tokens. Throws unless length > 0.
CutTokens cut_to(Tokens tokens, int64_t length, Keep keep);

/// <start> tokens <end>
Tokens enclosed(std::span<const std::int32_t> tokens);

struct PaddedIds {
  Ids ids;      // (B, T)
  Ids lengths;  // (B): how many tokens of each row are not padding
};

/// The sequences at the places `rows`, as wide as the longest of them. Throws if a row is no place, if a sequence is
/// empty, or if there are no rows.
PaddedIds pad(std::span<const Tokens> sequences, std::span<const int64_t> rows);

/// The values at the places `rows`: the labels of a batch. (B). Throws if a row is no place.
Ids pick(std::span<const std::int32_t> values, std::span<const int64_t> rows);

}  // namespace reel::data
