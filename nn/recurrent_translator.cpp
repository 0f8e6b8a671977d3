#include "nn/recurrent_translator.h"

namespace reel::nn {

RecurrentTranslator::RecurrentTranslator(const Config& c)
    : src_word_emb(child("src_word_emb", Embedding(c.source_vocabulary, c.width, c.dtype))),
      trg_word_emb(child("trg_word_emb", Embedding(c.target_vocabulary, c.width, c.dtype))),
      encoder(child("encoder", GRU(c.width, c.width, c.dtype))),
      decoder(child("decoder", GRU(c.width, c.width, c.dtype))),
      trg_word_prj(child("trg_word_prj", Linear(c.width, c.target_vocabulary, Bias::yes, c.dtype))),
      drop(child("drop", Dropout(c.dropout))),
      padding_(c.padding) {}

Tensor RecurrentTranslator::encode(const Ids& source) const {
  return encoder(drop(src_word_emb(source)), {}, equal(source, padding_)).last;
}

Tensor RecurrentTranslator::decode(const Tensor& memory, const Ids&, const Ids& target) const {
  return trg_word_prj(drop(decoder(drop(trg_word_emb(target)), memory).all));  // (B, T, V)
}

}  // namespace reel::nn
