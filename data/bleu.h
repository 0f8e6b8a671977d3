#pragma once
// BLEU (Papineni, Roukos, Ward and Zhu, "BLEU: a Method for Automatic Evaluation of Machine Translation", 2002):
//
//   BLEU = 100 min(1, exp(1 - r / h)) (p1 p2 p3 p4)^(1/4)
//
// for h tokens in all hypotheses and r in all references, one each. p_n is the share of the hypotheses' n-grams that
// their references have too; an n-gram that occurs k times in a sentence counts at most as often as in its reference.
// The k-th p_n that would be 0, though there are n-grams, becomes 1 / (2^k number of n-grams) (Chen and Cherry,
// "A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU", 2014, method 3).
//
// Tokens are what white space separates: the figure is that of `sacrebleu --tokenize none`, and depends on how the
// strings were tokenized before.

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace reel::data {

struct Bleu {
  double score = 0;                    // 0 .. 100
  std::array<double, 4> precisions{};  // p1 .. p4, smoothed, in percent
  double brevity_penalty = 0;
  std::int64_t hypothesis_length = 0, reference_length = 0;  // in tokens
};

/// Of a whole corpus: hypotheses[i] is meant to say references[i]. Throws unless there are as many of the one as of the
/// other, and one at least, all in UTF-8.
Bleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references);

}  // namespace reel::data
