#pragma once
// RecurrentTranslator: an encoder and a decoder that each are one GRU; all that the decoder gets to know of the source
// is the encoder's last state. Cho et al.: "Learning phrase representations using RNN encoder-decoder" (2014);
// Sutskever, Vinyals, Le: "Sequence to sequence learning with neural networks" (2014).

#include "nn/recurrent.h"
#include "nn/translator.h"

namespace reel::nn {

class RecurrentTranslator : public Translator {
 public:
  struct Config {
    int64_t source_vocabulary = 0;
    int64_t target_vocabulary = 0;
    int64_t width = 256;  // of embeddings and states
    double dropout = 0.1;
    std::int32_t padding = 0;
    DType dtype = DType::f32;
  };

  explicit RecurrentTranslator(const Config& config);
  Tensor encode(const Ids& source) const override;  // (B, S) -> (B, D)
  using Translator::decode;
  Tensor decode(const Tensor& memory, const Ids& source, const Ids& target, const Packing& packing) const override;
  /// Keeps the decoder's last state.
  std::unique_ptr<Translation> start(const Ids& source) const override;

  Embedding src_word_emb, trg_word_emb;
  GRU encoder, decoder;
  Linear trg_word_prj;
  Dropout drop;
};

}  // namespace reel::nn
