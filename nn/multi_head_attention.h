#pragma once
// Multi-head attention with split heads, as in Vaswani et al.: "Attention is all you need" (2017), section 3.2.
//
// The width is split over the heads: head h attends with its own slice of queries, keys and values. Queries come from
// x, keys and values from a memory: x itself (self-attention) or an encoder's output (cross-attention). Parameters are
// named as in the PyTorch implementation of Yu-Hsiang Huang.
//
// B batch, T queries, S keys, H heads, D width.

#include "nn/attention.h"
#include "nn/packing.h"
#include "nn/residual.h"

namespace reel::nn {

/// What attention found, and where it looked.
struct Attended {
  Tensor output;  // (B, T, D)
  Tensor maps;    // (B, H, T, S); each row sums to 1, or is 0 where all keys are hidden. Undefined where not kept
};

/// Maps that nobody wants to see need not all be in memory at once.
enum class KeepMaps { no, yes };

/// With Norm::post or Norm::pre the residual connection and the normalization are part of it; with Norm::none neither
/// is. Packed texts yield packed output, and need a mask that hides their padding.
class MultiHeadAttention : public Module {
 public:
  struct Config {
    int64_t width = 512;
    int64_t heads = 8;  // must divide the width
    double dropout = 0;
    Norm norm = Norm::post;
    DType dtype = DType::f32;
  };

  explicit MultiHeadAttention(const Config& config);
  /// x (B, T, D) attends to itself: S = T. With Norm::pre keys and values, too, come from what is normalized.
  Attended operator()(const Texts& x, const Mask& mask, KeepMaps keep = KeepMaps::no) const;
  /// x (B, T, D) attends to memory (B, S, D), which is taken as it comes.
  Attended operator()(const Texts& x, const Texts& memory, const Mask& mask, KeepMaps keep = KeepMaps::no) const;
  /// To a memory whose keys and values were computed once, for many x: of as many texts as x, or of one for all.
  Attended operator()(const Tensor& x, const KeysAndValues& memory, const Mask& mask,
                      KeepMaps keep = KeepMaps::no) const;
  KeysAndValues keys_and_values(const Texts& memory) const;
  /// To itself and to the tokens that `past` holds, which x goes on from, and is added to.
  Attended operator()(const Tensor& x, KeyValueCache& past, const Mask& mask, KeepMaps keep = KeepMaps::no) const;

  Linear w_qs, w_ks, w_vs, fc;  // (D, D), no bias
  Dropout drop;                 // of the maps
  Residual residual;

 private:
  /// Residual connection and normalization around attend(in), where `in` is x, normalized if that comes first.
  template <class Attend>
  Attended around(const Texts& x, const Attend& attend) const;
  // The layer itself, without them.
  Attended attend(const Texts& x, const KeysAndValues& memory, const Mask& mask, KeepMaps keep) const;
  /// Packed to the end where both are packed, nobody wants maps, and the mask allows it.
  Attended attend(const Texts& x, const Texts& memory, const Mask& mask, KeepMaps keep) const;
  /// No padding, and a mask of time alone.
  Tensor attend_packed(const Texts& x, const Texts& memory, const Mask& mask) const;

  int64_t heads_;
};

}  // namespace reel::nn
