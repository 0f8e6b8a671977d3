#pragma once
// Word dropout: in training, some words of each text are hidden, so that no single one is relied on.
//
// Iyyer, Manjunatha, Boyd-Graber, Daumé: "Deep unordered composition rivals syntactic methods for text classification"
// (2015), section 3.1.

#include "autograd/ids.h"
#include "autograd/random.h"

namespace reel::data {

/// The tokens, each but <pad> replaced by `hidden` with probability p, from 0 to 1.
Ids drop_words(const Ids& tokens, double p, std::int32_t hidden, Generator& generator);

}  // namespace reel::data
