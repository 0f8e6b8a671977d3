#pragma once
// Words put into a line.

#include <string>
#include <string_view>
#include <vector>

namespace reel::apps {

std::string joined(const std::vector<std::string>& words, std::string_view between);

/// `word` as one word for a shell: in quotes where it needs them.
std::string shell_word(std::string_view word);

}  // namespace reel::apps
