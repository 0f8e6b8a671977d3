#include "nn/reader.h"

#include "autograd/error.h"

namespace reel::nn {

Reader::Reader(int64_t context) : context_(context) {
  if (context < 1) fail("Reader: the context is ", context, "; need at least 1");
}

Tensor Reader::read(std::span<const std::int32_t> tokens) {
  if (tokens.empty()) fail("Reader: there is nothing to read; need at least one token");
  std::size_t known = window_.size();
  window_.insert(window_.end(), tokens.begin(), tokens.end());
  const int64_t excess = std::ssize(window_) - context_, half = (context_ + 1) / 2;
  if (excess > 0) {
    window_.erase(window_.begin(), window_.begin() + (excess + half - 1) / half * half);
    known = 0;
  }
  return next(window_, known);
}

}  // namespace reel::nn
