#include "data/printable.h"

#include <algorithm>

#include "autograd/utf8.h"

namespace reel::data {

bool is_control(char32_t character) { return character < 0x20 || (character >= 0x7F && character < 0xA0); }

bool leaves_its_place(char32_t character) {
  return is_control(character) || (character >= 0x2028 && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

std::string printable(std::string_view text) {
  std::u32string characters = decode_utf8(replace_invalid_utf8(text));
  std::ranges::replace_if(characters, leaves_its_place, U'?');
  return encode_utf8(characters);
}

std::u32string shortened(std::u32string characters, std::size_t most) {
  if (characters.size() <= most) return characters;
  characters.resize(most);
  if (most > 0) characters.back() = U'\u2026';  // ellipsis
  return characters;
}

std::string brief(std::string_view text) { return encode_utf8(shortened(decode_utf8(printable(text)), 60)); }

}  // namespace reel::data
