#pragma once
// Transformer: encoder and decoder, for translating.
//
// Vaswani et al.: "Attention is all you need" (2017), with the parameter names of Yu-Hsiang Huang's PyTorch
// implementation. The encoder attends to the whole source; the decoder to the target so far and to what the encoder
// made of the source. Padding is hidden from everybody, and not worked on: encode() returns 0 there. Positions are
// sines and cosines, or learned. Matrices start as in any Linear, smaller than Glorot and Bengio (2010) propose, which
// learns sooner; how embeddings start depends on positions and ties (start_embedding, transformer.cpp).
//
// B batch, S source tokens, T target tokens, D width, V target vocabulary.

#include <optional>
#include <vector>

#include "nn/feed_forward.h"
#include "nn/multi_head_attention.h"
#include "nn/translator.h"

namespace reel::nn {

class Transformer : public Translator {
 public:
  enum class Positions { sinusoidal, learned };

  struct Config {
    int64_t source_vocabulary = 0;
    int64_t target_vocabulary = 0;
    int64_t length = 200;  // the most tokens of a source or target
    int64_t width = 512;
    int64_t heads = 8;
    int64_t hidden = 2048;  // of the feed-forward network
    int64_t depth = 6;      // of the encoder, and of the decoder
    double dropout = 0.1;
    std::int32_t padding = 0;  // the token that pads shorter texts, in both languages
    Positions positions = Positions::sinusoidal;
    Norm norm = Norm::post;
    bool scale_embeddings = true;  // by √D, so that positions do not drown them
    bool norm_embeddings = true;   // before the first layer, with Norm::post
    /// The projection's weights are those of the target's embedding, which then starts small, scaled or not: the first
    /// logits would be as large as √D otherwise.
    bool tie_projection = false;
    DType dtype = DType::f32;
  };

  /// Where attention looked, for each layer: (B, H, queries, keys).
  struct Maps {
    std::vector<Tensor> encoder;  // source to source
    std::vector<Tensor> decoder;  // target to target
    std::vector<Tensor> cross;    // target to source
  };

  explicit Transformer(const Config& config);
  Tensor encode(const Ids& source) const override;
  using Translator::decode;
  Tensor decode(const Tensor& memory, const Ids& source, const Ids& target, const Packing& packing) const override;
  /// Keeps keys and values: those of the source, which are computed once, and those of the target so far.
  std::unique_ptr<Translation> start(const Ids& source) const override;
  /// All attention maps of translating source (B, S) to target (B, T).
  Maps attention_maps(const Ids& source, const Ids& target) const;

  /// What stands around the layers of the encoder, and around those of the decoder: embedding, positions, dropout and,
  /// perhaps, a normalization, which comes first with Norm::post and last with Norm::pre.
  class Frame : public Module {
   public:
    Frame(const std::string& embedding, int64_t vocabulary, const Config& config);
    /// Tokens (...), each at a time (...) of its text -> (..., D)
    Tensor embed(const Ids& tokens, const Ids& times) const;
    /// The most tokens of a text: how many positions there are.
    int64_t length() const { return pos_table.size(1); }
    /// After the last layer.
    Tensor final_norm(const Tensor& x) const { return norm_ == Norm::pre ? (*layer_norm)(x) : x; }

    Embedding word_emb;
    Tensor pos_table;  // (1, length, D)
    std::optional<LayerNorm> layer_norm;

   private:
    Dropout drop_;
    double scale_;
    Norm norm_;  // where layer_norm stands
  };

  struct EncoderLayer : Module {
    explicit EncoderLayer(const Config& config);
    MultiHeadAttention slf_attn;
    ConvFeedForward pos_ffn;
  };

  struct Encoder : Module {
    explicit Encoder(const Config& config);
    Frame frame;
    std::vector<EncoderLayer> layer_stack;
  };

  struct DecoderLayer : Module {
    explicit DecoderLayer(const Config& config);
    MultiHeadAttention slf_attn, enc_attn;
    ConvFeedForward pos_ffn;
  };

  struct Decoder : Module {
    explicit Decoder(const Config& config);
    Frame frame;
    std::vector<DecoderLayer> layer_stack;
  };

  Encoder encoder;
  Decoder decoder;
  Linear trg_word_prj;  // (V, D), no bias

 private:
  /// encode and decode for the tokens that are packed, which also note where they look if `maps` is not null.
  Tensor run_encoder(const Ids& source, const Packing& packing, Maps* maps) const;
  Tensor run_decoder(const Tensor& memory, const Ids& source, const Ids& target, const Packing& packing,
                     Maps* maps) const;
};

}  // namespace reel::nn
