#include "apps/common/words.h"

#include <algorithm>
#include <cctype>

#include "autograd/utf8.h"
#include "data/printable.h"

namespace reel::apps {
namespace {

std::u32string characters_of_one_line(std::string_view text) {
  std::u32string characters = decode_utf8(text);
  std::ranges::replace_if(characters, data::leaves_its_place, U' ');
  return characters;
}

}  // namespace

std::string on_one_line(std::string_view text) { return encode_utf8(characters_of_one_line(text)); }

std::string excerpt(std::string_view text, std::size_t longest) {
  return encode_utf8(data::shortened(characters_of_one_line(text), longest));
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
