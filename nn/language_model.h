#pragma once
// What every model that writes text can do: say how probable each next token is.

#include <memory>
#include <vector>

#include "autograd/ids.h"
#include "nn/module.h"
#include "nn/reader.h"

namespace reel::nn {

class LanguageModel : public Module {
 public:
  /// tokens (B, T) -> (B, T, V): the log-probability of each token to come next, at every position. It depends on this
  /// and the earlier tokens of its row alone. Throws if T is longer than context().
  virtual Tensor operator()(const Ids& tokens) const = 0;

  /// For a text that grows: after each token the same as operator() gives for all of it, but for rounding. Models that
  /// keep what they computed for earlier tokens compute only the new ones; this default runs over the whole window. The
  /// model must outlive its readers.
  virtual std::unique_ptr<Reader> reader() const;

  /// Where attention looks, for each block (B, H, T, T); nothing for a model without attention.
  virtual std::vector<Tensor> attention_maps(const Ids&) const { return {}; }

  /// The most tokens that the model can look back on.
  virtual int64_t context() const = 0;

 protected:
  LanguageModel() = default;
  LanguageModel(const LanguageModel&) = default;
  LanguageModel(LanguageModel&&) = default;
};

}  // namespace reel::nn
