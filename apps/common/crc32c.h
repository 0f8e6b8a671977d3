#pragma once
// CRC-32C, Castagnoli's polynomial, with which the records of TensorBoard's event files are checked (RFC 3720, B.4).

#include <cstdint>
#include <string_view>

namespace reel::apps {

std::uint32_t crc32c(std::string_view bytes);

}  // namespace reel::apps
