#include "apps/common/examples.h"

#include <algorithm>
#include <utility>

#include "apps/common/words.h"
#include "autograd/utf8.h"
#include "data/characters.h"

namespace reel::apps {

std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  const std::size_t shown = std::min(count, most);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < shown; ++i) places.push_back(i * count / shown);
  return places;
}

std::string excerpt(std::string_view text, std::size_t longest) {
  std::u32string characters = decode_utf8(text);
  for (char32_t& character : characters) {
    if (data::is_control(character)) character = U' ';  // line ends, and what a terminal would obey
  }
  return encode_utf8(shortened(std::move(characters), longest));
}

}  // namespace reel::apps
