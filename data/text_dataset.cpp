#include "data/text_dataset.h"

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

TextDataset::TextDataset(std::span<const std::int32_t> tokens, int64_t context, std::string_view name)
    : tokens_(tokens), context_(context) {
  if (context_ <= 0) fail("TextDataset: the context is ", context_, "; need context > 0");
  // compared without adding 1, which overflows for the largest context
  if (target_count() < context_) {
    fail(name, " is too short: ", tokens_.size(), " tokens, and a context of ", context_,
         " needs one token more than that; give a longer text or a smaller context");
  }
}

Batch TextDataset::windows(std::span<const int64_t> starts, int64_t length) const {
  if (length <= 0) fail("TextDataset::windows: the length is ", length, "; need length > 0");
  Shape shape{static_cast<int64_t>(starts.size()), length};
  Batch batch{Ids::zeros(shape), Ids::zeros(shape)};
  std::int32_t* input = batch.inputs.data();
  std::int32_t* target = batch.targets.data();
  for (int64_t start : starts) {
    if (start < 0 || start > target_count() - length) {
      fail("TextDataset::windows: no window of ", length, " tokens and their targets begins at ", start, " of ",
           tokens_.size(), " tokens; need 0 <= start <= ", target_count() - length);
    }
    input = std::copy_n(tokens_.begin() + start, length, input);
    target = std::copy_n(tokens_.begin() + start + 1, length, target);
  }
  return batch;
}

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
