#include "nn/recurrent_translator.h"

#include "nn/rows.h"

namespace reel::nn {
namespace {

class RecurrentTranslation : public Translation {
 public:
  RecurrentTranslation(const RecurrentTranslator& model, Tensor state) : model_(model), state_(std::move(state)) {}

  Tensor extend(const Ids& rows, const Ids& tokens) override {
    const Tensor words = model_.trg_word_emb(tokens.view({tokens.numel(), 1}));  // (B, 1, D)
    state_ = model_.decoder(model_.drop(words), pick_rows(state_, rows)).last;
    return model_.trg_word_prj(model_.drop(state_));
  }

 private:
  const RecurrentTranslator& model_;
  Tensor state_;  // of the decoder, (B, D)
};

}  // namespace

RecurrentTranslator::RecurrentTranslator(const Config& c)
    : Translator(c.padding),
      src_word_emb(child("src_word_emb", Embedding(c.source_vocabulary, c.width, 1, c.dtype))),
      trg_word_emb(child("trg_word_emb", Embedding(c.target_vocabulary, c.width, 1, c.dtype))),
      encoder(child("encoder", GRU(c.width, c.width, c.dtype))),
      decoder(child("decoder", GRU(c.width, c.width, c.dtype))),
      trg_word_prj(child("trg_word_prj", Linear(c.width, c.target_vocabulary, Bias::yes, c.dtype))),
      drop(child("drop", Dropout(c.dropout))) {}

Tensor RecurrentTranslator::encode(const Ids& source) const {
  return encoder(drop(src_word_emb(source)), {}, eq(source, padding())).last;
}

Tensor RecurrentTranslator::decode(const Tensor& memory, const Ids&, const Ids& target, const Packing& packing) const {
  const Tensor states = decoder(drop(trg_word_emb(target)), memory).all;  // (B, T, D)
  return trg_word_prj(drop(packing.pack(states)));                        // (N, V)
}

std::unique_ptr<Translation> RecurrentTranslator::start(const Ids& source) const {
  return std::make_unique<RecurrentTranslation>(*this, encode(source));
}

}  // namespace reel::nn
