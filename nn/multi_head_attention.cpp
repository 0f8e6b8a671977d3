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

template <class MemoryOf>
Attended MultiHeadAttention::attend(const Texts& x, const Mask& mask, KeepMaps keep, const MemoryOf& memory_of) const {
  Tensor maps;
  const Tensor output = residual(x.vectors, [&](const Tensor& in) {
    const Tensor queries = split_heads(x.with(w_qs(in)).padded(), heads_);
    const KeysAndValues memory = memory_of(x.with(in));
    check_attention_shapes("MultiHeadAttention", queries, memory.keys, memory.values, mask);
    Tensor heads;  // (B, H, T, D/H)
    if (keep == KeepMaps::yes) {
      maps = attention_weights(queries, memory.keys, mask);  // (B, H, T, S)
      heads = matmul(drop(maps), memory.values);
    } else {
      heads = dot_product_attention(queries, memory.keys, memory.values, mask, Scaling::scores, drop.rate());
    }
    return fc(x.like_these(merge_heads(heads)));
  });
  return {output, maps};
}

Tensor MultiHeadAttention::attend_packed(const Texts& x, const Texts& memory, const Mask& mask) const {
  const Tensor queries = split_heads(w_qs(x.vectors), heads_);  // (H, _, D/H)
  const Tensor keys = split_heads(w_ks(memory.vectors), heads_), values = split_heads(w_vs(memory.vectors), heads_);
  return fc(merge_heads(packed_attention(queries, keys, values, x.packing->starts(), memory.packing->starts(), mask,
                                         score_scale(queries), drop.rate())));
}

template <class MemoryOf>
Attended MultiHeadAttention::attend_texts(const Texts& x, const Packing* memory_packing, const Mask& mask,
                                          KeepMaps keep, const MemoryOf& memory_of) const {
  const bool can_be_fused = keep == KeepMaps::no && drop.rate() < 1;  // packed_attention() cannot drop all weights
  if (can_be_fused && x.packing && memory_packing && agree_on_padding(mask, *memory_packing)) {
    auto packed = [&](const Texts& in) { return attend_packed(in, memory_of(in), mask.in_time()); };
    return {residual(x.vectors, [&](const Tensor& in) { return packed(x.with(in)); }), {}};
  }
  return attend(x, mask, keep, [&](const Texts& in) { return keys_and_values(memory_of(in)); });
}

Attended MultiHeadAttention::operator()(const Texts& x, const Mask& mask, KeepMaps keep) const {
  check_texts(x, x);
  return attend_texts(x, x.packing, mask, keep, [](const Texts& in) { return in; });
}

Attended MultiHeadAttention::operator()(const Texts& x, const Texts& memory, const Mask& mask, KeepMaps keep) const {
  check_texts(x, memory);
  return attend_texts(x, memory.packing, mask, keep, [&](const Texts&) { return memory; });
}

Attended MultiHeadAttention::operator()(const Tensor& x, const KeysAndValues& memory, const Mask& mask,
                                        KeepMaps keep) const {
  return attend(x, mask, keep, [&](const Texts&) { return memory; });
}

Attended MultiHeadAttention::operator()(const Tensor& x, KeyValueCache& past, const Mask& mask, KeepMaps keep) const {
  return attend(x, mask, keep, [&](const Texts& in) { return past.append(keys_and_values(in)); });
}

}  // namespace reel::nn
