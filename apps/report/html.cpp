#include "apps/report/html.h"

#include <array>
#include <charconv>
#include <cmath>

#include "autograd/utf8.h"

namespace reel::apps {

std::string escape_html(std::string_view text) {
  const std::string valid = replace_invalid_utf8(text);
  std::string out;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const char c = valid[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (byte == 0x7F) {
      out += encode_utf8(U'\u2421');
    } else if (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') {
      out += encode_utf8(U'\u2400' + byte);
    } else if (byte == 0xC2 && static_cast<unsigned char>(valid[i + 1]) < 0xA0) {  // U+0080 to U+009F: no pictures
      out += encode_utf8(replacement_character);
      ++i;
    } else {
      out += c;
    }
  }
  return out;
}

std::string svg_number(double value) {
  const double tenths = std::round(value * 10);
  std::array<char, 400> buffer;
  char* const first = buffer.data();
  auto end = std::to_chars(first, first + buffer.size(), tenths / 10 + 0.0, std::chars_format::fixed).ptr;
  return {first, end};
}

}  // namespace reel::apps
