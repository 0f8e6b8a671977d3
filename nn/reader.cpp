#include "nn/reader.h"

#include <utility>

#include "autograd/error.h"

namespace reel::nn {

Reader::Reader(int64_t context) : context_(context) {
  if (context < 1) fail("Reader: the context is ", context, "; need at least 1");
}

Tensor Reader::read(std::span<const std::int32_t> tokens) {
  if (tokens.empty()) fail("Reader: there is nothing to read; need at least one token");
  std::vector<std::int32_t> window = window_;
  std::size_t known = window.size();
  window.insert(window.end(), tokens.begin(), tokens.end());
  const int64_t excess = std::ssize(window) - context_, half = (context_ + 1) / 2;
  if (excess > 0) {
    window.erase(window.begin(), window.begin() + (excess + half - 1) / half * half);
    known = 0;
  }
  const Tensor result = next(window, known);
  window_ = std::move(window);  // only now: what is refused has not been read
  return result;
}

}  // namespace reel::nn
