#include "data/text_dataset.h"

#include <algorithm>

#include "autograd/error.h"

namespace reel::data {
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

}  // namespace reel::data
