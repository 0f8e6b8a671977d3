#include "apps/common/words.h"

#include <algorithm>
#include <cctype>

#include "data/characters.h"

namespace reel::apps {

std::u32string shortened(std::u32string characters, std::size_t most) {
  if (characters.size() <= most) return characters;
  characters.resize(most);
  if (most > 0) characters.back() = U'\u2026';  // ellipsis
  return characters;
}

std::string in_quotes(std::string_view word) { return "\"" + data::printable(word) + "\""; }

std::string shell_word(std::string_view word) {
  auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("%+,-./:=@_").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string out = "'";
  for (char c : word) out.append(c == '\'' ? "'\\''" : std::string(1, c));
  return out + "'";
}

}  // namespace reel::apps
