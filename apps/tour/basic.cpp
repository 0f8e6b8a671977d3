#include <cmath>
#include <ostream>

#include "apps/tour/page.h"
#include "apps/tour/steps.h"
#include "autograd/creation.h"
#include "autograd/ops.h"
#include "nn/attention.h"

namespace reel::apps {
namespace {

/// softmax(x xᵀ) x for x (t, k), one number after another.
Tensor attention_as_a_loop(const Tensor& x) {
  const auto t = static_cast<std::size_t>(x.size(0)), k = static_cast<std::size_t>(x.size(1));
  const std::vector<double> in = x.to_vector();
  std::vector<double> out(t * k);
  for (std::size_t i = 0; i < t; ++i) {
    std::vector<double> weights(t);
    double total = 0;
    for (std::size_t j = 0; j < t; ++j) {
      double score = 0;
      for (std::size_t c = 0; c < k; ++c) score += in[i * k + c] * in[j * k + c];
      weights[j] = std::exp(score);
      total += weights[j];
    }
    for (std::size_t j = 0; j < t; ++j) {
      for (std::size_t c = 0; c < k; ++c) out[i * k + c] += weights[j] / total * in[j * k + c];
    }
  }
  return tensor(x.shape(), out, DType::f64);
}

}  // namespace

void show_basic(std::ostream& out) {
  out << R"(  To a model a word is a vector, its embedding. Self-attention takes the vectors of a sentence and
  returns as many new ones, each a weighted mean of all the old ones. How much a word counts in the
  mean is decided by a score, its dot product with the word that looks; a softmax turns the scores
  of a row into weights, which are positive and sum to 1.

      y = softmax(x xᵀ) x
)";
  const Words words{"the", "cat", "sat", "down"}, numbers = indices(3);
  const Tensor x = randn({4, 3}, DType::f64);
  const Tensor scores = matmul(x, x.transpose(0, 1)), weights = softmax(scores, 1), y = matmul(weights, x);
  print(out, beside({titled("x: four words, three numbers each", table(x, words, numbers)),
                     titled("scores = x xᵀ", table(scores, words, words))}));
  print(out, beside({titled("weights = softmax(scores)", table(weights, words, words)),
                     titled("y = weights x", table(y, words, numbers))}));

  out << R"(
  A softmax between two products of matrices: that is all. The same as a loop:

      for each word i:
        for each word j:  weight[j] = exp(x[i] · x[j])
        divide the weights by their sum
        y[i] = the sum of weight[j] x[j] over all words j
)";
  const Tensor looped = attention_as_a_loop(x);
  print(out, titled("y by the loop", table(looped, words, numbers)));
  print(out, difference(nn::basic_self_attention(x), looped));
}

}  // namespace reel::apps
