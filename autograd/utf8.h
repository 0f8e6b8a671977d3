#pragma once
// UTF-8: characters (Unicode code points) to bytes and back.
//
// Decoding accepts what the Unicode standard calls well-formed (chapter 3, table 3-7) and nothing else: no overlong
// forms, no surrogates, nothing above U+10FFFF, no sequence cut short.

#include <string>
#include <string_view>

namespace reel {

/// U+FFFD, what is shown where a character was lost.
constexpr char32_t replacement_character = U'\uFFFD';

/// What some programs write at the start of a file, as its first character.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Whether this byte of UTF-8 is the first, or only, one of a character.
constexpr bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// The characters of `text`. Throws where it is not UTF-8, naming `source`, the byte (counted from 0) and the line.
std::u32string decode_utf8(std::string_view text, std::string_view source = "text");

/// Throws as decode_utf8 does.
void check_utf8(std::string_view text, std::string_view source);
bool is_utf8(std::string_view text);

/// Throws if a character is a surrogate or above U+10FFFF.
std::string encode_utf8(char32_t character);
std::string encode_utf8(std::u32string_view characters);

/// `bytes` made fit to print: every piece that is not UTF-8 becomes one U+FFFD (a "maximal subpart", as the standard
/// recommends and browsers do). What a model of bytes writes may end in the middle of a character.
std::string replace_invalid_utf8(std::string_view bytes);

}  // namespace reel
