#pragma once
// Built-in corpora for the classifier and the translator, drawn from two small grammars, so that both can be tried
// without a download. In both the order of the words decides, which is what attention has to find out.
//
// Reviews judge films by clauses such as "the plot was not boring". A review is positive if the clause that counts is:
//
//   M.   M and M'.   C but M.   although C, M.   M although C.   M, even if C.   C. still, M.
//
// where M and M' say what the label says, C says the contrary, and any clause may say what it says by a negated
// opposite. Swap M and C, and the same words make the opposite label; so a sum of a weight for each word, however well
// chosen, is right for little more than half of the reviews.
//
// Sentences are English with their German. German puts the verb second, after whatever comes first, but its infinitives
// and participles, and in a subordinate clause all of it, last; articles and adjectives agree with the noun's gender,
// number and case, and the verb with its subject; "not a" becomes one word.
//
//   today the old aunt has bought a chair .            heute hat die alte tante einen stuhl gekauft .
//   she waits because the cat does not see a dog .     sie wartet , weil die katze keinen hund sieht .
//
// The same sizes and seed give the same corpus on every machine. No text occurs twice in one, so that the parts share
// none. Words are in lower case, with a space between any two tokens.

#include <cstdint>

#include "data/labelled_text.h"
#include "data/parallel_text.h"

namespace reel::data {

/// Texts with labels, in two parts.
struct ReviewCorpus {
  LabelledText train, test;
};

/// Classes "negative" and "positive", every other review of each. Throws unless both sizes are above 0, or
/// where a thousand reviews in a row repeat earlier ones: the grammar has no more, or hardly any.
ReviewCorpus review_corpus(int64_t train_size = 10'000, int64_t test_size = 1'000, std::uint64_t seed = 1);

/// English to German, and one test part, "test". Throws as review_corpus does.
ParallelData sentence_corpus(int64_t train_size = 10'000, int64_t validation_size = 1'000, int64_t test_size = 1'000,
                             std::uint64_t seed = 1);

}  // namespace reel::data
