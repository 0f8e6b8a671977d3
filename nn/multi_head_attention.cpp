#include "nn/multi_head_attention.h"

#include "autograd/error.h"

namespace reel::nn {
namespace {

bool fits(const Texts& texts) { return texts.vectors.rank() == (texts.packing ? 2 : 3); }

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

Tensor MultiHeadAttention::by_head(const Tensor& all) const {
  return all.view({all.size(0), all.size(1), heads_, all.size(2) / heads_}).transpose(1, 2);
}

KeysAndValues MultiHeadAttention::keys_and_values(const Texts& memory) const {
  return {by_head(memory.with(w_ks(memory.vectors)).padded()), by_head(memory.with(w_vs(memory.vectors)).padded())};
}

template <class MemoryOf>
Attended MultiHeadAttention::attend(const Texts& x, const Mask& mask, KeepMaps keep, const MemoryOf& memory_of) const {
  Tensor maps;
  const Tensor output = residual(x.vectors, [&](const Tensor& in) {
    const Tensor queries = by_head(x.with(w_qs(in)).padded());
    const KeysAndValues memory = memory_of(x.with(in));
    Tensor heads;  // (B, H, T, D/H)
    if (keep == KeepMaps::yes || drop.active()) {
      maps = attention_weights(queries, memory.keys, mask);  // (B, H, T, S)
      heads = matmul(drop(maps), memory.values);
    } else {
      heads = dot_product_attention(queries, memory.keys, memory.values, mask);
    }
    const int64_t B = heads.size(0), T = heads.size(2);
    return fc(x.like_these(heads.transpose(1, 2).reshape({B, T, in.size(-1)})));
  });
  return {output, maps};
}

Attended MultiHeadAttention::operator()(const Texts& x, const Texts& memory, const Mask& mask, KeepMaps keep) const {
  if (!fits(x) || !fits(memory) || x.batch() != memory.batch()) {
    fail("MultiHeadAttention: x is ", x.vectors.shape(), ", memory is ", memory.vectors.shape(),
         "; need (batch, time, width) or, packed, (tokens, width), of as many texts");
  }
  const bool to_itself = memory.vectors.same(x.vectors);
  return attend(x, mask, keep, [&](const Texts& in) { return keys_and_values(to_itself ? in : memory); });
}

Attended MultiHeadAttention::operator()(const Tensor& x, const KeysAndValues& memory, const Mask& mask,
                                        KeepMaps keep) const {
  return attend(x, mask, keep, [&](const Texts&) { return memory; });
}

Attended MultiHeadAttention::operator()(const Tensor& x, KeyValueCache& past, const Mask& mask, KeepMaps keep) const {
  return attend(x, mask, keep, [&](const Texts& in) { return past.append(keys_and_values(in)); });
}

}  // namespace reel::nn
