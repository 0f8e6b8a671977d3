#include "nn/naive_transformer.h"

#include "autograd/error.h"
#include "nn/check_tokens.h"

namespace reel::nn {

NaiveTransformer::Block::Block(int64_t width, DType dtype)
    : attention(child("attention", SingleHeadAttention(width, dtype))),
      norm(child("norm", LayerNorm(width, 1e-5, dtype))) {}

NaiveTransformer::NaiveTransformer(const Config& c)
    : token_embedding(child("token_embedding", Embedding(c.vocabulary, c.embedding, 1, c.dtype))),
      pos_embedding(child("pos_embedding", Embedding(c.context, c.embedding, 1, c.dtype))),
      blocks(children("blocks", c.depth, [&] { return Block(c.embedding, c.dtype); })),
      norm(child("norm", LayerNorm(c.embedding, 1e-5, c.dtype))),
      projection(child("projection", Linear(c.embedding, c.vocabulary, Bias::yes, c.dtype))),
      drop(child("drop", Dropout(c.dropout))) {}

Tensor NaiveTransformer::embed(const Ids& tokens) const {
  return drop(token_embedding(tokens) + pos_embedding.weight.slice(0, 0, tokens.size(-1)));
}

Tensor NaiveTransformer::logits(const Ids& tokens) const {
  if (tokens.rank() != 1 || tokens.size(0) > context()) {
    fail("NaiveTransformer: tokens are ", tokens.shape(), "; need (T) of one text, T up to the context of ", context());
  }
  Tensor x = embed(tokens);  // (T, D)
  for (const Block& block : blocks) x = block(x);
  return drop(projection(norm(x)));  // (T, V)
}

Tensor NaiveTransformer::operator()(const Ids& tokens) const {
  check_tokens("NaiveTransformer", tokens, context());
  if (tokens.size(0) == 0) return projection(token_embedding(tokens));  // no text to run: (0, T, V)
  const int64_t T = tokens.size(1);
  std::vector<Tensor> texts;
  for (int64_t b = 0; b < tokens.size(0); ++b) {
    const auto row = tokens.values().subspan(static_cast<std::size_t>(b * T), static_cast<std::size_t>(T));
    texts.push_back(logits(Ids({row.begin(), row.end()})));
  }
  return log_softmax(stack(texts, 0), -1);  // (B, T, V)
}

std::vector<Tensor> NaiveTransformer::attention_maps(const Ids& tokens) const {
  check_tokens("NaiveTransformer", tokens, context());
  Tensor x = embed(tokens);  // (B, T, D)
  std::vector<Tensor> maps;
  for (const Block& block : blocks) {
    maps.push_back(block.attention.attention_maps(x, Mask::causal()).unsqueeze(1));  // (B, 1, T, T)
    x = block(x);
  }
  return maps;
}

}  // namespace reel::nn
