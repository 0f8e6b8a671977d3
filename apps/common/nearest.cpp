#include "apps/common/nearest.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "autograd/error.h"

namespace reel::apps {
namespace {

/// "lr" of "learn-rate"
std::string initials(std::string_view name) {
  std::string letters(name.substr(0, 1));
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (name[i - 1] == '-') letters += name[i];
  }
  return letters;
}

/// 0 for what was surely meant.
int difference(std::string_view word, const std::string& name) {
  if (word.size() >= 2) {
    if (word == initials(name)) return 0;
    if (name.starts_with(word) || name.ends_with(text("-", word))) return 1;
  }
  return edit_distance(word, name);
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // row[j]: the distance between the first i letters of a and the first j of b
  std::vector<int> row(b.size() + 1), above(b.size() + 1), two_above;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_above = std::exchange(above, row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      int replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return row.back();
}

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  std::string nearest;
  int least = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  if (word.size() > 100) return nearest;  // no name is so long
  for (const std::string& name : names) {
    const int found = difference(word, name);
    if (found < least) {
      least = found;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace reel::apps
