#pragma once
// CRC-32C, Castagnoli's polynomial (RFC 3720, B.4): what TensorBoard checks the records of its event files with, and
// what checkpoints and the fingerprints of data are checked with here.

#include <cstdint>
#include <string_view>

namespace reel::apps {

/// Of `bytes`, or of all bytes so far, where those before have the CRC `before`.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace reel::apps
