#pragma once
// What every model that translates can do: read a source text once, and say how probable each next target token is.

#include <memory>

#include "autograd/ids.h"
#include "nn/module.h"
#include "nn/translation.h"

namespace reel::nn {

class Translator : public Module {
 public:
  virtual ~Translator() = default;

  /// source (B, S) -> what the decoder needs to know of it; its first axis is the batch.
  virtual Tensor encode(const Ids& source) const = 0;
  /// Under that memory of source (B, S): target (B, T) -> logits (B, T, V) of the token to come next, at every
  /// position. It depends on this and the earlier tokens of the target alone.
  virtual Tensor decode(const Tensor& memory, const Ids& source, const Ids& target) const = 0;

  /// Begins to translate source (B, S), token by token: the logits are those of decode(), but for rounding. A model
  /// that can keep what it computed for earlier tokens does not compute it again; this one here decodes all of them.
  /// The model must outlive its translations.
  virtual std::unique_ptr<Translation> start(const Ids& source) const;

  Tensor operator()(const Ids& source, const Ids& target) const { return decode(encode(source), source, target); }

 protected:
  Translator() = default;
  Translator(const Translator&) = default;
  Translator(Translator&&) = default;
};

}  // namespace reel::nn
