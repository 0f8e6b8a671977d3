#pragma once
// CRC-32C, Castagnoli's polynomial, with which the records of TensorBoard's event files are checked (RFC 3720, B.4).

#include <cstdint>
#include <span>
#include <string_view>

namespace reel::apps {

/// Of `bytes`, or of all bytes so far, where those before have the CRC `before`.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

/// The same of numbers, as they lie in memory.
inline std::uint32_t crc32c(std::span<const std::int32_t> numbers, std::uint32_t before) {
  return crc32c({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()}, before);
}

}  // namespace reel::apps
