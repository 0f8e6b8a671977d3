#pragma once
// What kind of character a character is, as far as cutting a text into words has to know.

#include <cstddef>
#include <string>
#include <string_view>

namespace reel::data {

/// Unicode white space and the separators U+001C .. U+001F: what Python's str.split() splits at.
bool is_space(char32_t character);
/// U+0000 .. U+001F and U+007F .. U+009F, which have no picture but may move a terminal's cursor.
bool is_control(char32_t character);
/// What does not stay where it stands: a control character, a separator of lines or paragraphs, and what turns the
/// direction of the text after it, embeddings, overrides and isolates of Unicode's annex 9.
bool leaves_its_place(char32_t character);
/// `text` as a message can show it on one line: what would leave its place as ?, what is not UTF-8 as U+FFFD.
std::string printable(std::string_view text);
/// At most `most` characters: of more, the first ones, with an ellipsis for the rest.
std::u32string shortened(std::u32string characters, std::size_t most);
/// `text` as a message can show it, shortened to 60 characters.
std::string brief(std::string_view text);
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
