#pragma once
// Kinds of characters, as far as cutting a text into words and lines needs them.

#include <string>
#include <string_view>

namespace reel::data {

/// Unicode white space and the separators U+001C .. U+001F: what Python's str.split() splits at.
bool is_space(char32_t character);
/// Whether `text` is of white space alone, or empty. Throws if it is not UTF-8.
bool is_blank(std::string_view text);
/// `text` without white space at its ends. Throws if it is not UTF-8.
std::string trimmed(std::string_view text);

enum class CharacterKind {
  separator,    // white space, control and formatting characters
  punctuation,  // and symbols
  word          // letters, digits, combining marks, and what is not known to be anything else
};

/// From Unicode's general categories (version 14.0): Z, C and variation selectors separate, P and S are punctuation, L,
/// N and the rest of M make words. Exact up to the Armenian block and for the common blocks of punctuation and symbols;
/// of the punctuation of other scripts it knows what is frequent.
CharacterKind kind_of(char32_t character);

}  // namespace reel::data
