#pragma once
// Words put into one line, and a text cut into pieces.

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

/// What stands between the separators: one piece more than there are of these. Views of `text`.
inline std::vector<std::string_view> split_at(std::string_view separator, std::string_view text) {
  std::vector<std::string_view> pieces;
  for (std::size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + separator.size())) {
    pieces.push_back(text.substr(0, end));
  }
  pieces.push_back(text);
  return pieces;
}

}  // namespace reel::data
