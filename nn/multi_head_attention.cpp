#include "nn/multi_head_attention.h"

#include "autograd/error.h"

namespace reel::nn {

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

KeysAndValues MultiHeadAttention::keys_and_values(const Tensor& memory) const {
  return {by_head(w_ks(memory)), by_head(w_vs(memory))};
}

template <class MemoryOf>
Attended MultiHeadAttention::attend(const Tensor& x, const Mask& mask, KeepMaps keep, const MemoryOf& memory_of) const {
  Tensor maps;
  const Tensor output = residual(x, [&](const Tensor& in) {
    const Tensor queries = by_head(w_qs(in));
    const KeysAndValues memory = memory_of(in);
    Tensor heads;  // (B, H, T, D/H)
    if (keep == KeepMaps::yes || drop.active()) {
      maps = attention_weights(queries, memory.keys, mask);  // (B, H, T, S)
      heads = matmul(drop(maps), memory.values);
    } else {
      heads = dot_product_attention(queries, memory.keys, memory.values, mask);
    }
    return fc(heads.transpose(1, 2).reshape(x.shape()));
  });
  return {output, maps};
}

Attended MultiHeadAttention::operator()(const Tensor& x, const Tensor& memory, const Mask& mask, KeepMaps keep) const {
  if (x.rank() != 3 || memory.rank() != 3 || x.size(0) != memory.size(0)) {
    fail("MultiHeadAttention: x is ", x.shape(), ", memory is ", memory.shape(),
         "; need one (batch, time, width) each");
  }
  const bool to_itself = memory.same(x);
  return attend(x, mask, keep, [&](const Tensor& in) { return keys_and_values(to_itself ? in : memory); });
}

Attended MultiHeadAttention::operator()(const Tensor& x, const KeysAndValues& memory, const Mask& mask,
                                        KeepMaps keep) const {
  return attend(x, mask, keep, [&](const Tensor&) { return memory; });
}

Attended MultiHeadAttention::operator()(const Tensor& x, KeyValueCache& past, const Mask& mask, KeepMaps keep) const {
  return attend(x, mask, keep, [&](const Tensor& in) { return past.append(keys_and_values(in)); });
}

}  // namespace reel::nn
