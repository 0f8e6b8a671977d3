#include "nn/bag_of_words.h"

#include "autograd/creation.h"
#include "autograd/error.h"
#include "nn/pooling.h"

namespace reel::nn {

BagOfWords::BagOfWords(int64_t vocabulary, int64_t classes, std::int32_t padding, DType dtype)
    : words(child("words", Embedding(zeros({vocabulary, classes}, dtype), Embedding::Frozen::no))),
      bias(parameter("bias", zeros({classes}, dtype))),
      padding_(padding) {}

Tensor BagOfWords::logits(const Ids& tokens) const {
  if (tokens.rank() != 2) fail("BagOfWords: tokens are ", tokens.shape(), "; need (batch, time)");
  return pool(Pooling::mean, words(tokens), eq(tokens, padding_)) + bias;
}

}  // namespace reel::nn
