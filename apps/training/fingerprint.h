#pragma once
// A checksum that tells one run's data from another's: of tokens, labels, and where each text ends.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "apps/training/crc32c.h"

namespace reel::apps {

class Fingerprint {
 public:
  Fingerprint& add(std::span<const std::int32_t> numbers) {
    const std::array<std::uint64_t, 1> count{numbers.size()};
    auto bytes = [](const auto& some) {
      return std::string_view(reinterpret_cast<const char*>(some.data()), std::span(some).size_bytes());
    };
    sum_ = crc32c(bytes(numbers), crc32c(bytes(count), sum_));
    return *this;
  }
  /// Texts, or sentences, one after the other.
  Fingerprint& add(std::span<const std::vector<std::int32_t>> texts) {
    for (const auto& text : texts) add(text);
    return *this;
  }

  std::uint32_t value() const { return sum_; }

 private:
  std::uint32_t sum_ = 0;
};

}  // namespace reel::apps
