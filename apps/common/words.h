#pragma once
// Words and texts made fit for one line.

#include <cstddef>
#include <string>
#include <string_view>

namespace reel::apps {

/// A text on one line: a space for each line end, and for whatever else a terminal would obey. Throws if it is not
/// UTF-8.
std::string on_one_line(std::string_view text);
/// The beginning of that, at most `longest` characters.
std::string excerpt(std::string_view text, std::size_t longest);

/// `word` for a message, on one line whatever it holds (data::printable).
std::string in_quotes(std::string_view word);

/// `word` as one word for a shell: in quotes where it needs them.
std::string shell_word(std::string_view word);

}  // namespace reel::apps
