#include "nn/gtransformer.h"

#include <algorithm>

#include "autograd/error.h"
#include "nn/check_tokens.h"

namespace reel::nn {
namespace {

class CachingReader : public Reader {
 public:
  explicit CachingReader(const GTransformer& model) : Reader(model.context()), model_(model) {}

 private:
  Tensor next(std::span<const std::int32_t> window, std::size_t known) override {
    // `known` is 0 where the window has moved, and does not count what was refused; a call that threw may have kept
    // less.
    past_.length = std::min(past_.length, static_cast<int64_t>(known));
    const auto fresh = window.subspan(static_cast<std::size_t>(past_.length));
    return model_.next(Ids({1, std::ssize(fresh)}, {fresh.begin(), fresh.end()}), past_).select(0, 0);
  }

  const GTransformer& model_;
  GTransformer::Past past_;
};

}  // namespace

GTransformer::GTransformer(const Config& c)
    : token_embedding(child("token_embedding", Embedding(c.vocabulary, c.embedding, 1, c.dtype))),
      pos_embedding(child("pos_embedding", Embedding(c.context, c.embedding, 1, c.dtype))),
      unify_embeddings(child("unify_embeddings", Linear(2 * c.embedding, c.embedding, Bias::yes, c.dtype))),
      tblocks(children("tblocks", c.depth,
                       [&] {
                         return TransformerBlock(
                             c.embedding, c.heads,
                             {.dropout = c.dropout, .norm = c.norm, .activation = c.activation, .dtype = c.dtype});
                       })),
      final_norm(child("final_norm", FinalNorm(c.norm, c.embedding, c.dtype))),
      toprobs(child("toprobs", Linear(c.embedding, c.vocabulary, Bias::yes, c.dtype))) {}

Tensor GTransformer::embed(const Ids& tokens, int64_t start) const {
  check_tokens("GTransformer", tokens, context(), start);
  const Tensor token = token_embedding(tokens);  // (B, T, D)
  const Tensor position = pos_embedding.weight.slice(0, start, start + tokens.size(1)).expand(token.shape());
  return unify_embeddings(cat({token, position}, -1));
}

Tensor GTransformer::log_probs(const Tensor& x) const { return log_softmax(toprobs(final_norm(x)), -1); }

Tensor GTransformer::operator()(const Ids& tokens) const {
  Tensor x = embed(tokens);
  for (const TransformerBlock& block : tblocks) x = block(x, Mask::causal());
  return log_probs(x);  // (B, T, V)
}

Tensor GTransformer::next(const Ids& tokens, Past& past) const {
  KeyValueCache::check_no_tape();  // first: what is refused leaves nothing on the tape
  Tensor x = embed(tokens, past.length);
  if (tokens.size(1) == 0) fail("GTransformer: tokens are ", tokens.shape(), "; need at least one token to go on with");
  past.blocks.resize(tblocks.size());
  for (std::size_t i = 0; i < tblocks.size(); ++i) {
    past.blocks[i].seen.truncate(past.length);  // a call that threw may have kept more
    x = tblocks[i](x, Mask::causal(), &past.blocks[i]);
  }
  const Tensor last = log_probs(x.select(1, -1));  // (B, V)
  past.length += tokens.size(1);                   // only now: what throws has added nothing
  return last;
}

std::unique_ptr<Reader> GTransformer::reader() const { return std::make_unique<CachingReader>(*this); }

std::vector<Tensor> GTransformer::attention_maps(const Ids& tokens) const {
  return nn::attention_maps(tblocks, embed(tokens), Mask::causal());
}

}  // namespace reel::nn
