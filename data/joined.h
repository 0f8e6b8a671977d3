#pragma once
// Words put into one line.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reel::data {

inline std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string line;
  for (std::size_t i = 0; i < words.size(); ++i) line.append(i == 0 ? "" : between).append(words[i]);
  return line;
}

}  // namespace reel::data
