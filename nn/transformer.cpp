#include "nn/transformer.h"

#include <cmath>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "nn/positions.h"

namespace reel::nn {
namespace {

using Config = Transformer::Config;

MultiHeadAttention attention(const Config& c) {
  return MultiHeadAttention(
      {.width = c.width, .heads = c.heads, .dropout = c.dropout, .norm = c.norm, .dtype = c.dtype});
}

ConvFeedForward position_wise(const Config& c) {
  return ConvFeedForward(c.width, c.hidden, c.dropout, c.norm, c.dtype);
}

Tensor table_of_positions(const Config& c) { return sinusoidal_positions(c.length, c.width, c.dtype).unsqueeze(0); }

/// Words as strong as positions once they are scaled: normal with deviation 1/√D. Glorot's bound would look at the size
/// of the vocabulary, which has nothing to do with it, and leave words that drown in the positions.
void start_embedding(const Embedding& embedding, bool scaled) {
  const Tensor& table = embedding.weight;
  const double deviation = scaled ? 1 / std::sqrt(static_cast<double>(table.size(1))) : 1;
  copy(randn(table.shape(), table.dtype()) * deviation, table);
}

}  // namespace

Transformer::Frame::Frame(const std::string& embedding, int64_t vocabulary, const Config& c)
    : word_emb(child(embedding, Embedding(vocabulary, c.width, c.dtype))),
      pos_table(c.positions == Positions::sinusoidal ? constant("position_enc.pos_table", table_of_positions(c))
                                                     : parameter("position_enc.pos_table", table_of_positions(c))),
      layer_norm(child("layer_norm", LayerNorm(c.width, 1e-6, c.dtype))),
      drop_(child("drop", Dropout(c.dropout))),
      scale_(c.scale_embeddings ? std::sqrt(static_cast<double>(c.width)) : 1),
      post_(c.norm == Norm::post) {}

Tensor Transformer::Frame::enter(const Ids& tokens) const {
  if (tokens.rank() != 2) fail("Transformer: tokens are ", tokens.shape(), "; need (batch, time)");
  const int64_t T = tokens.size(1), length = pos_table.size(1);
  if (T > length) fail("Transformer: a text of ", T, " tokens is longer than the model's ", length);
  const Tensor x = drop_(word_emb(tokens) * scale_ + pos_table.slice(1, 0, T));  // (B, T, D)
  return post_ ? layer_norm(x) : x;
}

Transformer::EncoderLayer::EncoderLayer(const Config& c)
    : slf_attn(child("slf_attn", attention(c))), pos_ffn(child("pos_ffn", position_wise(c))) {}

Transformer::Encoder::Encoder(const Config& c)
    : frame(merged(Frame("src_word_emb", c.source_vocabulary, c))),
      layer_stack(children("layer_stack", c.depth, [&] { return EncoderLayer(c); })) {}

Transformer::DecoderLayer::DecoderLayer(const Config& c)
    : slf_attn(child("slf_attn", attention(c))),
      enc_attn(child("enc_attn", attention(c))),
      pos_ffn(child("pos_ffn", position_wise(c))) {}

Transformer::Decoder::Decoder(const Config& c)
    : frame(merged(Frame("trg_word_emb", c.target_vocabulary, c))),
      layer_stack(children("layer_stack", c.depth, [&] { return DecoderLayer(c); })) {}

Transformer::Transformer(const Config& c)
    : encoder(child("encoder", Encoder(c))),
      decoder(child("decoder", Decoder(c))),
      trg_word_prj(child("trg_word_prj", c.tie_projection ? Linear(decoder.frame.word_emb.weight)
                                                          : Linear(c.width, c.target_vocabulary, Bias::no, c.dtype))),
      padding_(c.padding) {
  if (c.norm == Norm::none) fail("Transformer: without normalization nothing holds a stack of layers in bounds");
  glorot_uniform(*this);
  for (const Frame* frame : {&encoder.frame, &decoder.frame}) {
    start_embedding(frame->word_emb, c.scale_embeddings);
    copy(table_of_positions(c), frame->pos_table);
  }
}

Tensor Transformer::encode(const Ids& source) const { return run_encoder(source, nullptr); }

Tensor Transformer::decode(const Tensor& memory, const Ids& source, const Ids& target) const {
  return run_decoder(memory, source, target, nullptr);
}

Transformer::Maps Transformer::attention_maps(const Ids& source, const Ids& target) const {
  Maps maps;
  run_decoder(run_encoder(source, &maps), source, target, &maps);
  return maps;
}

Tensor Transformer::run_encoder(const Ids& source, Maps* maps) const {
  Tensor x = encoder.frame.enter(source);  // (B, S, D)
  const Mask mask = Mask::padding(source, padding_);
  for (const EncoderLayer& layer : encoder.layer_stack) {
    const Attended self = layer.slf_attn(x, x, mask);
    x = layer.pos_ffn(self.output);
    if (maps) maps->encoder.push_back(self.maps);
  }
  return encoder.frame.leave(x);
}

Tensor Transformer::run_decoder(const Tensor& memory, const Ids& source, const Ids& target, Maps* maps) const {
  Tensor x = decoder.frame.enter(target);  // (B, T, D)
  const Mask source_mask = Mask::padding(source, padding_);
  const Mask target_mask = Mask::padding(target, padding_) & Mask::causal();
  for (const DecoderLayer& layer : decoder.layer_stack) {
    const Attended self = layer.slf_attn(x, x, target_mask);
    const Attended cross = layer.enc_attn(self.output, memory, source_mask);
    x = layer.pos_ffn(cross.output);
    if (maps) {
      maps->decoder.push_back(self.maps);
      maps->cross.push_back(cross.maps);
    }
  }
  return trg_word_prj(decoder.frame.leave(x));  // (B, T, V)
}

}  // namespace reel::nn
