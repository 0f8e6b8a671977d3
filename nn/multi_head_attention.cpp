#include "nn/multi_head_attention.h"

#include <algorithm>

#include "autograd/error.h"
#include "autograd/ops/attention_shapes.h"

namespace reel::nn {
namespace {

void check_texts(const Texts& x, const Texts& memory) {
  auto fits = [](const Texts& texts) { return texts.vectors.rank() == (texts.packing ? 2 : 3); };
  if (!fits(x) || !fits(memory) || x.batch() != memory.batch()) {
    fail("MultiHeadAttention: x is ", x.vectors.shape(), ", memory is ", memory.vectors.shape(),
         "; need (batch, time, width) or, packed, (tokens, width), of as many texts");
  }
}

/// Whether what a mask hides as padding is what the packing leaves out.
bool agree_on_padding(const Mask& mask, const Packing& packing) {
  if (!mask.padding()) return !packing.has_padding();
  const Ids& left_out = packing.padding();
  return mask.padding()->shape() == left_out.shape() && std::ranges::equal(mask.padding()->values(), left_out.values());
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const Config& c)
    : w_qs(child("w_qs", Linear(c.width, c.width, Bias::no, c.dtype))),
      w_ks(child("w_ks", Linear(c.width, c.width, Bias::no, c.dtype))),
      w_vs(child("w_vs", Linear(c.width, c.width, Bias::no, c.dtype))),
      fc(child("fc", Linear(c.width, c.width, Bias::no, c.dtype))),
      drop(child("drop", Dropout(c.dropout))),
      residual(merged(Residual(c.norm, c.width, c.dropout, c.dtype))),
      heads_(c.heads) {
  if (c.heads < 1 || c.width % c.heads != 0) {
    fail("MultiHeadAttention: ", c.heads, " heads do not divide the width of ", c.width);
  }
}

KeysAndValues MultiHeadAttention::keys_and_values(const Texts& memory) const {
  return {split_heads(memory.with(w_ks(memory.vectors)).padded(), heads_),
          split_heads(memory.with(w_vs(memory.vectors)).padded(), heads_)};
}

template <class Attend>
Attended MultiHeadAttention::around(const Texts& x, const Attend& attend) const {
  Tensor maps;
  const Tensor output = residual(x.vectors, [&](const Tensor& in) {
    const Attended found = attend(x.with(in));
    maps = found.maps;
    return found.output;
  });
  return {output, maps};
}

Attended MultiHeadAttention::attend(const Texts& x, const KeysAndValues& memory, const Mask& mask,
                                    KeepMaps keep) const {
  const Tensor queries = split_heads(x.with(w_qs(x.vectors)).padded(), heads_);
  check_attention_shapes("MultiHeadAttention", queries, memory.keys, memory.values, mask);
  Tensor heads, maps;  // (B, H, T, D / H), (B, H, T, S)
  if (keep == KeepMaps::yes) {
    maps = attention_weights(queries, memory.keys, mask);
    heads = matmul(drop(maps), memory.values);
  } else {
    heads = dot_product_attention(queries, memory.keys, memory.values, mask, drop.rate());
  }
  return {fc(x.like_these(merge_heads(heads))), maps};
}

Attended MultiHeadAttention::attend(const Texts& x, const Texts& memory, const Mask& mask, KeepMaps keep) const {
  const bool can_be_fused = keep == KeepMaps::no && drop.rate() < 1;  // packed_attention() cannot drop all weights
  if (can_be_fused && x.packing && memory.packing && agree_on_padding(mask, *memory.packing)) {
    return {attend_packed(x, memory, mask.in_time()), {}};
  }
  return attend(x, keys_and_values(memory), mask, keep);
}

Tensor MultiHeadAttention::attend_packed(const Texts& x, const Texts& memory, const Mask& mask) const {
  const Tensor queries = split_heads(w_qs(x.vectors), heads_);  // (H, _, D / H)
  const Tensor keys = split_heads(w_ks(memory.vectors), heads_), values = split_heads(w_vs(memory.vectors), heads_);
  return fc(merge_heads(packed_attention(queries, keys, values, x.packing->starts(), memory.packing->starts(), mask,
                                         score_scale(queries), drop.rate())));
}

Attended MultiHeadAttention::operator()(const Texts& x, const Mask& mask, KeepMaps keep) const {
  check_texts(x, x);
  return around(x, [&](const Texts& in) { return attend(in, in, mask, keep); });
}

Attended MultiHeadAttention::operator()(const Texts& x, const Texts& memory, const Mask& mask, KeepMaps keep) const {
  check_texts(x, memory);
  return around(x, [&](const Texts& in) { return attend(in, memory, mask, keep); });
}

Attended MultiHeadAttention::operator()(const Tensor& x, const KeysAndValues& memory, const Mask& mask,
                                        KeepMaps keep) const {
  return around(x, [&](const Texts& in) { return attend(in, memory, mask, keep); });
}

Attended MultiHeadAttention::operator()(const Tensor& x, KeyValueCache& past, const Mask& mask, KeepMaps keep) const {
  return around(x, [&](const Texts& in) { return attend(in, past.append(keys_and_values(in)), mask, keep); });
}

}  // namespace reel::nn
