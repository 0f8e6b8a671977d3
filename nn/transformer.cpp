#include "nn/transformer.h"

#include <cmath>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "nn/check_tokens.h"
#include "nn/positions.h"
#include "nn/rows.h"

namespace reel::nn {
namespace {

using Config = Transformer::Config;

MultiHeadAttention make_attention(const Config& c) {
  return MultiHeadAttention(
      {.width = c.width, .heads = c.heads, .dropout = c.dropout, .norm = c.norm, .dtype = c.dtype});
}

ConvFeedForward make_feed_forward(const Config& c) {
  return ConvFeedForward(c.width, c.hidden, c.dropout, c.norm, c.dtype);
}

Tensor table_of_positions(const Config& c) { return sinusoidal_positions(c.length, c.width, c.dtype).unsqueeze(0); }

/// Where the encoder's and the decoder's own normalization stands, besides those of their layers.
Norm norm_of(const Config& c) { return c.norm == Norm::post && !c.norm_embeddings ? Norm::none : c.norm; }

void start_normal(const Tensor& table, double deviation) {
  copy(randn(table.shape(), table.dtype()) * deviation, table);
}

/// Beside sines words start with standard deviation 1, once they are scaled: about as large. A table that is also the
/// projection starts with 1/√D, scaled or not: a logit sums D products of its entries with activations of about 1.
/// Where positions are learned, they start with 1/√D and words with 0.02, as in GPT-2: Adam's steps have one size for
/// all weights, and change small ones sooner.
void start_embedding(const Transformer::Frame& frame, bool tied, const Config& c) {
  const double root = std::sqrt(static_cast<double>(c.width));
  if (c.positions == Transformer::Positions::learned) {
    start_normal(frame.word_emb.weight, 0.02);
    start_normal(frame.pos_table, 1 / root);
  } else {
    start_normal(frame.word_emb.weight, c.scale_embeddings || tied ? 1 / root : 1);
  }
}

/// The same time for B new tokens. (B, 1)
Ids times(int64_t B, int64_t time) {
  return Ids({B, 1}, std::vector<std::int32_t>(static_cast<std::size_t>(B), static_cast<std::int32_t>(time)));
}

class CachingTranslation : public Translation {
 public:
  CachingTranslation(const Transformer& model, const Ids& source)
      : model_(model),
        source_(source),
        target_(Ids::zeros({source.size(0), 0})),
        past_(model.decoder.layer_stack.size()) {
    const Tensor memory = model.encode(source);
    for (const auto& layer : model.decoder.layer_stack) memory_.push_back(layer.enc_attn.keys_and_values(memory));
  }

  Tensor extend(const Ids& rows, const Ids& tokens) override {
    // What can be refused comes first, while nothing has changed, and nothing is on the tape.
    KeyValueCache::check_no_tape();
    const int64_t B = tokens.numel(), length = target_.size(1);
    const Ids target = append_column(pick_rows(target_, rows), tokens);
    check_tokens("Transformer", target, model_.decoder.frame.length());
    Tensor x = model_.decoder.frame.embed(tokens.view({B, 1}), times(B, length));  // (B, 1, D)
    reorder(rows);
    target_ = target;
    const Mask source_mask = Mask::padding(source_, model_.padding());
    const Mask target_mask = Mask::padding(target_, model_.padding()) & Mask::causal();
    for (std::size_t i = 0; i < past_.size(); ++i) {
      const Transformer::DecoderLayer& layer = model_.decoder.layer_stack[i];
      x = layer.slf_attn(x, past_[i], target_mask).output;
      x = layer.enc_attn(x, memory_[i], source_mask).output;
      x = layer.pos_ffn(x);
    }
    return model_.trg_word_prj(model_.decoder.frame.final_norm(x)).select(1, 0);
  }

 private:
  void reorder(const Ids& rows) {
    for (KeyValueCache& past : past_) past.reorder(rows);
    if (source_.size(0) == 1) return;  // one source for all rows: nothing of it needs to be repeated
    source_ = pick_rows(source_, rows);
    for (auto& [keys, values] : memory_) {
      keys = pick_rows(keys, rows);
      values = pick_rows(values, rows);
    }
  }

  const Transformer& model_;
  Ids source_, target_;                // (B, S) or (1, S), (B, T)
  std::vector<KeysAndValues> memory_;  // of the source, for each layer of the decoder
  std::vector<KeyValueCache> past_;    // of the target
};

}  // namespace

Transformer::Frame::Frame(const std::string& embedding, int64_t vocabulary, const Config& c)
    : word_emb(child(embedding, Embedding(vocabulary, c.width, 1, c.dtype))),
      pos_table(c.positions == Positions::sinusoidal ? state("position_enc.pos_table", table_of_positions(c))
                                                     : parameter("position_enc.pos_table", table_of_positions(c))),
      layer_norm(norm_of(c) == Norm::none ? std::nullopt
                                          : std::optional(child("layer_norm", LayerNorm(c.width, 1e-6, c.dtype)))),
      drop_(child("drop", Dropout(c.dropout))),
      scale_(c.scale_embeddings ? std::sqrt(static_cast<double>(c.width)) : 1),
      norm_(norm_of(c)) {}

Tensor Transformer::Frame::embed(const Ids& tokens, const Ids& times) const {
  const Tensor x = drop_(word_emb(tokens) * scale_ + embedding(pos_table.select(0, 0), times));  // (..., D)
  return norm_ == Norm::post ? (*layer_norm)(x) : x;
}

Transformer::EncoderLayer::EncoderLayer(const Config& c)
    : slf_attn(child("slf_attn", make_attention(c))), pos_ffn(child("pos_ffn", make_feed_forward(c))) {}

Transformer::Encoder::Encoder(const Config& c)
    : frame(merged(Frame("src_word_emb", c.source_vocabulary, c))),
      layer_stack(children("layer_stack", c.depth, [&] { return EncoderLayer(c); })) {}

Transformer::DecoderLayer::DecoderLayer(const Config& c)
    : slf_attn(child("slf_attn", make_attention(c))),
      enc_attn(child("enc_attn", make_attention(c))),
      pos_ffn(child("pos_ffn", make_feed_forward(c))) {}

Transformer::Decoder::Decoder(const Config& c)
    : frame(merged(Frame("trg_word_emb", c.target_vocabulary, c))),
      layer_stack(children("layer_stack", c.depth, [&] { return DecoderLayer(c); })) {}

Transformer::Transformer(const Config& c)
    : Translator(c.padding),
      encoder(child("encoder", Encoder(c))),
      decoder(child("decoder", Decoder(c))),
      trg_word_prj(child("trg_word_prj", c.tie_projection ? Linear(decoder.frame.word_emb.weight)
                                                          : Linear(c.width, c.target_vocabulary, Bias::no, c.dtype))) {
  if (c.norm == Norm::none) fail("Transformer: without normalization nothing holds a stack of layers in bounds");
  start_embedding(encoder.frame, false, c);
  start_embedding(decoder.frame, c.tie_projection, c);
}

Tensor Transformer::encode(const Ids& source) const { return run_encoder(source, Packing(source, padding()), nullptr); }

Tensor Transformer::decode(const Tensor& memory, const Ids& source, const Ids& target, const Packing& packing) const {
  return run_decoder(memory, source, target, packing, nullptr);
}

std::unique_ptr<Translation> Transformer::start(const Ids& source) const {
  return std::make_unique<CachingTranslation>(*this, source);
}

Transformer::Maps Transformer::attention_maps(const Ids& source, const Ids& target) const {
  Maps maps;
  const Tensor memory = run_encoder(source, Packing::whole(source.shape()), &maps);
  run_decoder(memory, source, target, Packing::whole(target.shape()), &maps);
  return maps;
}

Tensor Transformer::run_encoder(const Ids& source, const Packing& packing, Maps* maps) const {
  check_tokens("Transformer", source, encoder.frame.length());
  const Mask mask = Mask::padding(source, padding());
  const KeepMaps keep = maps ? KeepMaps::yes : KeepMaps::no;
  Tensor x = encoder.frame.embed(packing.pack(source), packing.times());  // (N, D)
  for (const EncoderLayer& layer : encoder.layer_stack) {
    const Attended self = layer.slf_attn({x, packing}, mask, keep);
    x = layer.pos_ffn(self.output);
    if (maps) maps->encoder.push_back(self.maps);
  }
  return packing.unpack(encoder.frame.final_norm(x));  // (B, S, D)
}

Tensor Transformer::run_decoder(const Tensor& memory, const Ids& source, const Ids& target, const Packing& packing,
                                Maps* maps) const {
  check_tokens("Transformer", target, decoder.frame.length());
  const Packing source_packing(source, padding());
  const Mask mask = Mask::padding(target, padding()) & Mask::causal(), source_mask = Mask::padding(source, padding());
  const KeepMaps keep = maps ? KeepMaps::yes : KeepMaps::no;
  const Tensor seen = source_packing.pack(memory);
  Tensor x = decoder.frame.embed(packing.pack(target), packing.times());  // (N, D)
  for (const DecoderLayer& layer : decoder.layer_stack) {
    const Attended self = layer.slf_attn({x, packing}, mask, keep);
    const Attended cross = layer.enc_attn({self.output, packing}, {seen, source_packing}, source_mask, keep);
    x = layer.pos_ffn(cross.output);
    if (maps) {
      maps->decoder.push_back(self.maps);
      maps->cross.push_back(cross.maps);
    }
  }
  return trg_word_prj(decoder.frame.final_norm(x));  // (N, V)
}

}  // namespace reel::nn
