#pragma once
// Reader: reads a text token by token, and says after each one what may come next.
//
// A model looks back on at most `context` tokens; of a longer text it sees a window. When new tokens do not fit in, the
// window leaves out whole halves of the context at its start, as few as make room. Were it to move by one token each
// time, all others would change their positions with every step, and nothing that was computed for them would hold any
// more.

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/tensor.h"

namespace reel::nn {

class Reader {
 public:
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;

  /// Reads on, at least one token. -> (V): the log-probability of each token to come next. If it throws, it has read
  /// nothing.
  Tensor read(std::span<const std::int32_t> tokens);

 protected:
  /// Throws unless context > 0.
  explicit Reader(int64_t context);
  /// What comes next after all tokens of the window -> (V). The window is that of the last call that did not throw, and
  /// further tokens, from `known` on; if it has moved since then, `known` is 0.
  virtual Tensor next(std::span<const std::int32_t> window, std::size_t known) = 0;

 private:
  int64_t context_;
  std::vector<std::int32_t> window_;
};

}  // namespace reel::nn
