#pragma once
// A text cut into pieces.

#include <string_view>
#include <vector>

namespace reel::data {

/// What stands between the separators, which are not empty: one piece more than there are of these. Views of `text`.
inline std::vector<std::string_view> split_at(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> pieces;
  for (std::size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + separator.size())) {
    pieces.push_back(text.substr(0, end));
  }
  pieces.push_back(text);
  return pieces;
}

}  // namespace reel::data
