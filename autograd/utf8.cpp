#include "autograd/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "autograd/error.h"

namespace reel {
namespace {

/// What stands at the start of some bytes: a character, or, with a reason, a piece that is none.
struct Piece {
  char32_t character;
  std::size_t size;           // in bytes
  const char* why = nullptr;  // it is not UTF-8; nullptr where it is
};

/// The sequence lengths and the range of the second byte, which rules out overlong forms, surrogates and what is
/// above U+10FFFF. Third and fourth bytes are always 80 .. BF.
Piece first_piece(std::string_view bytes) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC0) return {0, 1, "a continuation byte without a first byte"};
  if (lead < 0xC2) return {0, 1, "an overlong form"};
  if (lead > 0xF4) return {0, 1, "a byte that never occurs in UTF-8"};

  std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  unsigned char lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t character = lead & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (i == bytes.size() || byte(i) < 0x80 || byte(i) > 0xBF) return {0, i, "a character cut short"};
    if (i == 1 && byte(i) < lowest) return {0, i, "an overlong form"};
    if (i == 1 && byte(i) > highest) return {0, i, lead == 0xED ? "a surrogate" : "above U+10FFFF"};
    character = character << 6 | (byte(i) & 0x3Fu);
  }
  return {character, size};
}

/// Calls visit(character) for each character of `text`; throws where there is none.
template <class Visit>
void for_each_character(std::string_view text, std::string_view source, const Visit& visit) {
  for (std::size_t at = 0; at < text.size();) {
    Piece piece = first_piece(text.substr(at));
    if (piece.why) {
      auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      fail(source, ": not UTF-8 at byte ", at, ", line ", line, ": ", piece.why);
    }
    visit(piece.character);
    at += piece.size;
  }
}

}  // namespace

std::u32string decode_utf8(std::string_view text, std::string_view source) {
  std::u32string characters(text.size(), 0);  // filled in and cut, which is faster than to append
  std::size_t count = 0;
  for_each_character(text, source, [&](char32_t character) { characters[count++] = character; });
  characters.resize(count);
  return characters;
}

void check_utf8(std::string_view text, std::string_view source) {
  for_each_character(text, source, [](char32_t) {});
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    if (piece.why) return false;
    text.remove_prefix(piece.size);
  }
  return true;
}

std::string encode_utf8(char32_t character) {
  if (character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF)) {
    fail("encode_utf8: ", static_cast<std::uint32_t>(character),
         " is no character; need at most U+10FFFF and no surrogate");
  }
  auto byte = [](char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  auto continuation = [&](int shift) { return byte(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) return {byte(character)};
  if (character < 0x800) return {byte(0xC0 | character >> 6), continuation(0)};
  if (character < 0x10000) return {byte(0xE0 | character >> 12), continuation(6), continuation(0)};
  return {byte(0xF0 | character >> 18), continuation(12), continuation(6), continuation(0)};
}

std::string encode_utf8(std::u32string_view characters) {
  std::string text;
  text.reserve(characters.size());
  for (char32_t character : characters) text += encode_utf8(character);
  return text;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    Piece piece = first_piece(bytes);
    if (piece.why) {
      text += encode_utf8(replacement_character);
    } else {
      text += bytes.substr(0, piece.size);
    }
    bytes.remove_prefix(piece.size);
  }
  return text;
}

}  // namespace reel
