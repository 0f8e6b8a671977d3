#pragma once
// Options, notes, rows of a report: names with values, in order.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reel::apps {

using StringPairs = std::vector<std::pair<std::string, std::string>>;

/// The value of that name; null if there is none.
inline const std::string* find(const StringPairs& pairs, std::string_view name) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
  return found == pairs.end() ? nullptr : &found->second;
}

}  // namespace reel::apps
