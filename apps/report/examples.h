#pragma once
// What a run shows of its data.

#include <cstddef>
#include <vector>

namespace reel::apps {

/// Places among `count` examples, `most` of them at most and evenly spread: data may come sorted.
std::vector<std::size_t> spread(std::size_t count, std::size_t most);

}  // namespace reel::apps
