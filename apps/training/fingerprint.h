#pragma once
// A checksum that tells one run's data from another's: of tokens, labels, and where each text ends.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "apps/training/crc32c.h"

namespace reel::apps {

/// Of `numbers`, after those whose fingerprint is `before`.
inline std::uint32_t fingerprint(std::span<const std::int32_t> numbers, std::uint32_t before) {
  const std::array<std::uint64_t, 1> count{numbers.size()};
  auto bytes = [](const auto& some) {
    return std::string_view(reinterpret_cast<const char*>(some.data()), std::span(some).size_bytes());
  };
  return crc32c(bytes(numbers), crc32c(bytes(count), before));
}

/// Of texts, or sentences, one after the other.
inline std::uint32_t fingerprint(std::span<const std::vector<std::int32_t>> texts, std::uint32_t before) {
  for (const auto& text : texts) before = fingerprint(text, before);
  return before;
}

}  // namespace reel::apps
