#pragma once
// Which examples a run shows.

#include <cstddef>
#include <vector>

namespace reel::apps {

/// Places among `count` examples, `most` of them at most and evenly spread: data may come sorted.
std::vector<std::size_t> spread(std::size_t count, std::size_t most);

}  // namespace reel::apps
