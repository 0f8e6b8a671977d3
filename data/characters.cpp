#include "data/characters.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "autograd/utf8.h"

namespace reel::data {
namespace {

struct Range {
  char32_t first, last;
};

template <std::size_t n>
constexpr bool contains(const Range (&ranges)[n], char32_t character) {
  const Range* range = std::lower_bound(std::begin(ranges), std::end(ranges), character,
                                        [](const Range& a, char32_t c) { return a.last < c; });
  return range != std::end(ranges) && range->first <= character;
}

constexpr Range spaces[] = {{0x09, 0x0D},     {0x1C, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
                            {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};

// Control characters, the soft hyphen, zero-width, direction and byte-order marks, variation selectors.
constexpr Range formatting[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x061C, 0x061C},
                                {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F}, {0xFE00, 0xFE0F},
                                {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}};

constexpr Range punctuation[] = {
    {0x21, 0x2F},       {0x3A, 0x40},      {0x5B, 0x60},     {0x7B, 0x7E},                            // ASCII
    {0xA1, 0xA9},       {0xAB, 0xAC},      {0xAE, 0xB1},     {0xB4, 0xB4},       {0xB6, 0xB8},        // Latin-1
    {0xBB, 0xBB},       {0xBF, 0xBF},      {0xD7, 0xD7},     {0xF7, 0xF7},                            //
    {0x02C2, 0x02C5},   {0x02D2, 0x02DF},  {0x02E5, 0x02EB}, {0x02ED, 0x02ED},   {0x02EF, 0x02FF},    // modifiers
    {0x0375, 0x0375},   {0x037E, 0x037E},  {0x0384, 0x0385}, {0x0387, 0x0387},   {0x03F6, 0x03F6},    // Greek
    {0x0482, 0x0482},   {0x055A, 0x055F},  {0x0589, 0x058F},                                          // Armenian
    {0x05BE, 0x05BE},   {0x05C0, 0x05C0},  {0x05C3, 0x05C3}, {0x05F3, 0x05F4},                        // Hebrew
    {0x0606, 0x060F},   {0x061B, 0x061B},  {0x061D, 0x061F}, {0x066A, 0x066D},   {0x06D4, 0x06D4},    // Arabic
    {0x0964, 0x0965},   {0x0E3F, 0x0E3F},  {0x10FB, 0x10FB},                                          // danda, baht
    {0x1FBD, 0x1FBD},   {0x1FBF, 0x1FC1},  {0x1FCD, 0x1FCF}, {0x1FDD, 0x1FDF},   {0x1FED, 0x1FEF},    // Greek
    {0x1FFD, 0x1FFE},   {0x2010, 0x2027},  {0x2030, 0x205E}, {0x207A, 0x207E},   {0x208A, 0x208E},    // general
    {0x20A0, 0x20C0},   {0x2100, 0x2101},  {0x2103, 0x2106}, {0x2108, 0x2109},   {0x2114, 0x2114},    // currency
    {0x2116, 0x2118},   {0x211E, 0x2123},  {0x2125, 0x2125}, {0x2127, 0x2127},   {0x2129, 0x2129},    // letterlike
    {0x212E, 0x212E},   {0x213A, 0x213B},  {0x2140, 0x2144}, {0x214A, 0x214D},   {0x214F, 0x214F},    //
    {0x218A, 0x244A},   {0x249C, 0x24E9},  {0x2500, 0x2775}, {0x2794, 0x2BFF},                        // arrows .. stars
    {0x2E00, 0x2E2E},   {0x2E30, 0x2FFB},  {0x3001, 0x3004}, {0x3008, 0x3020},   {0x3030, 0x3030},    // CJK
    {0x303D, 0x303F},   {0x309B, 0x309C},  {0x30A0, 0x30A0}, {0x30FB, 0x30FB},                        //
    {0xFE10, 0xFE19},   {0xFE30, 0xFE6B},  {0xFF01, 0xFF0F}, {0xFF1A, 0xFF20},   {0xFF3B, 0xFF40},    // full width
    {0xFF5B, 0xFF65},   {0xFFE0, 0xFFEE},  {0xFFFC, 0xFFFD}, {0x1D000, 0x1D164}, {0x1D300, 0x1D356},  //
    {0x1F000, 0x1F0F5}, {0x1F10D, 0x1FBCA}};                                                          // pictures

constexpr CharacterKind looked_up(char32_t character) {
  if (contains(spaces, character) || contains(formatting, character)) return CharacterKind::separator;
  return contains(punctuation, character) ? CharacterKind::punctuation : CharacterKind::word;
}

constexpr auto ascii_kinds = [] {
  std::array<CharacterKind, 0x80> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = looked_up(static_cast<char32_t>(i));
  return kinds;
}();

}  // namespace

bool is_space(char32_t character) { return contains(spaces, character); }

bool is_blank(std::string_view text) {
  // Nearly every text has a visible character of ASCII near its start; the others alone are decoded.
  if (std::ranges::any_of(text, [](char byte) { return byte > ' ' && byte < 0x7F; })) return false;
  return std::ranges::all_of(decode_utf8(text), is_space);
}

std::string trimmed(std::string_view text) {
  std::u32string characters = decode_utf8(text);
  characters.erase(characters.begin(), std::ranges::find_if_not(characters, is_space));
  while (!characters.empty() && is_space(characters.back())) characters.pop_back();
  return encode_utf8(characters);
}

CharacterKind kind_of(char32_t character) {
  return character < ascii_kinds.size() ? ascii_kinds[character] : looked_up(character);
}

}  // namespace reel::data
