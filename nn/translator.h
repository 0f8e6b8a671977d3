#pragma once
// What every model that translates can do: read a source text once, and say how probable each next target token is.

#include <memory>

#include "autograd/ids.h"
#include "nn/module.h"
#include "nn/packing.h"
#include "nn/translation.h"

namespace reel::nn {

class Translator : public Module {
 public:
  /// source (B, S) -> what the decoder needs to know of it; its first axis is the batch.
  virtual Tensor encode(const Ids& source) const = 0;
  /// Under that memory of source (B, S): target (B, T) -> logits of the token to come next, after each of the tokens
  /// that are packed: (N, V). They depend on this and the earlier tokens of the target alone.
  virtual Tensor decode(const Tensor& memory, const Ids& source, const Ids& target, const Packing& packing) const = 0;
  /// After every token, and after padding, too: (B, T, V).
  Tensor decode(const Tensor& memory, const Ids& source, const Ids& target) const;

  /// Begins to translate source (B, S), token by token: the logits are those of decode(), but for rounding. A model
  /// that can keep what it computed for earlier tokens does not compute it again; this one here decodes all of them.
  /// The model must outlive its translations.
  virtual std::unique_ptr<Translation> start(const Ids& source) const;

  /// source (B, S), target (B, T) -> (B, T, V)
  Tensor operator()(const Ids& source, const Ids& target) const;
  /// Nobody needs to learn what follows padding: the logits (N, V) after the other tokens, as Packing orders them.
  Tensor packed(const Ids& source, const Ids& target) const;

  std::int32_t padding() const { return padding_; }

 protected:
  /// `padding` is the token that pads shorter texts, in both languages.
  explicit Translator(std::int32_t padding) : padding_(padding) {}
  Translator(const Translator&) = default;
  Translator(Translator&&) = default;

 private:
  std::int32_t padding_;
};

}  // namespace reel::nn
