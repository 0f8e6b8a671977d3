#pragma once
// Whoever mistypes a name is shown the one that was probably meant.

#include <span>
#include <string>
#include <string_view>

namespace reel::apps {

/// How many letters must be inserted, deleted, replaced or swapped with their neighbour to turn `a` into `b`
/// (Damerau and Levenshtein's distance, in its optimal string alignment form).
int edit_distance(std::string_view a, std::string_view b);

/// The name that `word` is the initials of (lr for learn-rate), or begins or ends, or comes near to, with at most a
/// third of its letters wrong; empty where there is none.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

}  // namespace reel::apps
