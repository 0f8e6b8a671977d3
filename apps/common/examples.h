#pragma once
// What a run shows of its data.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reel::apps {

/// Places among `count` examples, `most` of them at most and evenly spread: data may come sorted.
std::vector<std::size_t> spread(std::size_t count, std::size_t most);

/// The beginning of a text, at most `longest` characters of it, on one line.
std::string excerpt(std::string_view text, std::size_t longest);

}  // namespace reel::apps
