#include "data/split.h"

#include <algorithm>
#include <cmath>

#include "autograd/error.h"
#include "autograd/utf8.h"

namespace reel::data {
namespace {

std::ptrdiff_t share_of(std::ptrdiff_t count, double share) {
  if (!(share > 0 && share < 1)) fail("split: the share is ", share, "; need 0 < share < 1");
  return static_cast<std::ptrdiff_t>(std::floor(share * static_cast<double>(count)));
}

}  // namespace

Split<std::vector<std::int32_t>> split(std::span<const std::int32_t> tokens, double share) {
  auto cut = tokens.begin() + share_of(std::ssize(tokens), share);
  return {{tokens.begin(), cut}, {cut, tokens.end()}};
}

Split<std::string_view> split_text(std::string_view text, double share) {
  auto left = share_of(std::count_if(text.begin(), text.end(), begins_character), share);
  auto cut = std::find_if(text.begin(), text.end(), [&](char byte) { return begins_character(byte) && left-- == 0; });
  return {{text.begin(), cut}, {cut, text.end()}};
}

Split<std::string_view> split_bytes(std::string_view bytes, double share) {
  const auto first = static_cast<std::size_t>(share_of(std::ssize(bytes), share));
  return {bytes.substr(0, first), bytes.substr(first)};
}

}  // namespace reel::data
