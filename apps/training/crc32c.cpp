#include "apps/training/crc32c.h"

#include <array>

namespace reel::apps {

namespace {

/// What eight bits that leave the register do to the rest of it.
constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t polynomial = 0x82F63B78;  // lowest bit first
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? polynomial : 0);
    table[i] = value;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (char c : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

}  // namespace reel::apps
