#pragma once
// Options, notes, rows of a report: names with values, in order.

#include <string>
#include <utility>
#include <vector>

namespace reel::apps {

using StringPairs = std::vector<std::pair<std::string, std::string>>;

}  // namespace reel::apps
