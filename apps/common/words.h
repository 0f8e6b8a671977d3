#pragma once
// Words put into a line, and cut to fit one.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reel::apps {

std::string joined(const std::vector<std::string>& words, std::string_view between);

/// At most `most` characters: of more, the first ones, with an ellipsis for the rest.
std::u32string shortened(std::u32string characters, std::size_t most);

/// `word` for a message, on one line whatever it holds (data::printable).
std::string in_quotes(std::string_view word);

/// `word` as one word for a shell: in quotes where it needs them.
std::string shell_word(std::string_view word);

}  // namespace reel::apps
