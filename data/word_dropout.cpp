#include "data/word_dropout.h"

#include "autograd/error.h"
#include "data/word_tokenizer.h"

namespace reel::data {

Ids drop_words(const Ids& tokens, double p, std::int32_t hidden, Generator& generator) {
  if (!(p >= 0 && p <= 1)) fail("drop_words: p is ", p, "; need 0 <= p <= 1");
  if (p == 0) return tokens;
  Ids result = Ids::zeros(tokens.shape());
  for (int64_t i = 0; i < tokens.numel(); ++i) {
    const bool drop = generator.uniform() < p;  // one draw a place, padding or not
    result.data()[i] = drop && tokens.data()[i] != pad_id ? hidden : tokens.data()[i];
  }
  return result;
}

}  // namespace reel::data
