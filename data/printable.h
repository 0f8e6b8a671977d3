#pragma once
// A text, made fit for a message: on one line, not too long, and without what a terminal would obey.

#include <cstddef>
#include <string>
#include <string_view>

namespace reel::data {

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

}  // namespace reel::data
