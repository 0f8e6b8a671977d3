#pragma once
// Words cut to fit a line, and put so that it stays one.

#include <cstddef>
#include <string>
#include <string_view>

namespace reel::apps {

/// At most `most` characters: of more, the first ones, with an ellipsis for the rest.
std::u32string shortened(std::u32string characters, std::size_t most);

/// `word` for a message, on one line whatever it holds (data::printable).
std::string in_quotes(std::string_view word);

/// `word` as one word for a shell: in quotes where it needs them.
std::string shell_word(std::string_view word);

}  // namespace reel::apps
