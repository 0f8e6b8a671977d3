#pragma once
// From what a model says of the next token to a whole translation: greedy search, and beam search.
//
// Greedy search takes the most probable token at every step. Beam search keeps the `width` best beginnings instead,
// until as many have ended and the most probable one is among them, and then takes the one with the best log p / lp,
// lp = ((5 + length) / 6)^alpha: without lp it would prefer short ones. Wu et al.: "Google's neural machine translation
// system" (2016), section 7.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/sequences.h"
#include "data/word_tokenizer.h"
#include "nn/translator.h"

namespace reel::apps {

/// The tokens that frame a text, how long a translation may get, and which tokens are never part of one.
struct SearchLimits {
  std::int32_t start, end;
  std::int64_t longest;
  data::Tokens never = {};
};

/// The translations, without start and end, of all texts of a batch: source (B, S).
std::vector<data::Tokens> greedy_search(nn::Translator& model, const Ids& source, const SearchLimits& limits);

/// The best translation of one text, source (1, S); one of `longest` tokens need not have come to its end. Throws
/// unless width > 0.
data::Tokens beam_search(nn::Translator& model, const Ids& source, std::int64_t width, double alpha,
                         const SearchLimits& limits);

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

}  // namespace reel::apps
