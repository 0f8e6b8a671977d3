#pragma once
// Lower-casing beyond ASCII.
//
// Every character has at most one lower-case character here: the Unicode Character Database's "simple lowercase
// mapping" (UnicodeData.txt, field 13, version 14.0), for all scripts. It depends neither on the locale nor on what
// stands around a character, so Σ is always σ, a final ς stays as it is, ß stays ß, and İ becomes i without its dot.

namespace reel::data {

/// The lower-case form of `character`, or itself if it has none.
char32_t to_lower(char32_t character);

}  // namespace reel::data
