#pragma once
// A text as a next-token problem. From C tokens of it, the context, a model predicts at each place the token that
// follows, so a window of C + 1 tokens holds C examples:
//
//   tokens   t0 t1 t2 t3 t4 ...       window 1 with C = 3:   input   t1 t2 t3
//                                                            target  t2 t3 t4

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/batch.h"

namespace reel::data {

class TextDataset {
 public:
  /// A view of `tokens`, which must outlive it. Throws, calling the text `name`, unless context > 0 and there are at
  /// least context + 1 tokens.
  TextDataset(std::span<const std::int32_t> tokens, int64_t context, std::string_view name = "the text");
  TextDataset(std::vector<std::int32_t>&&, int64_t, std::string_view = "") = delete;

  int64_t context() const { return context_; }
  /// How many windows of `context` there are; they overlap.
  int64_t size() const { return target_count() - context_ + 1; }
  /// How many tokens can be predicted: all but the first.
  int64_t target_count() const { return static_cast<int64_t>(tokens_.size()) - 1; }

  /// The windows of `context` tokens that begin at `starts`. Shapes (starts.size(), context). Throws unless each start
  /// is in 0 .. size() - 1.
  Batch windows(std::span<const int64_t> starts) const { return windows(starts, context_); }
  /// The same with another length, for the end of a text. Throws unless length > 0 and every window
  /// with its targets lies in the text.
  Batch windows(std::span<const int64_t> starts, int64_t length) const;

 private:
  std::span<const std::int32_t> tokens_;
  int64_t context_;
};

}  // namespace reel::data
