#pragma once
// What trains, and what validates.
//
// A text is cut in one piece, not window by window: windows overlap, and neighbouring ones would put nearly the same
// text on both sides. The first part trains and what follows validates; cut that in half once more for a final test.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace reel::data {

template <class Part>
struct Split {
  Part first;  // floor(share * size) of the whole
  Part rest;
};

/// Throws unless 0 < share < 1, as do those below.
Split<std::vector<std::int32_t>> split(std::span<const std::int32_t> tokens, double share);

// To cut before tokenizing lets the vocabulary come from the training part alone. The parts are views of the text.

/// Counts and cuts between characters of UTF-8.
Split<std::string_view> split_text(std::string_view text, double share);
/// Counts bytes, and cuts between any two of them.
Split<std::string_view> split_bytes(std::string_view bytes, double share);

}  // namespace reel::data
