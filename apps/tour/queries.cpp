#include <ostream>

#include "apps/common/numbers.h"
#include "apps/tour/page.h"
#include "apps/tour/steps.h"
#include "autograd/creation.h"
#include "nn/attention.h"

namespace reel::apps {

void show_queries(std::ostream& out) {
  out << R"(  Every word plays three parts. Its query is what it looks for, its key is what others find it by,
  and its value is what they get from it. Three matrices turn the one embedding into the three
  vectors; their numbers are what training finds (here they are still random). The division by √k
  is the next step's matter.

      Q = x Wqᵀ     K = x Wkᵀ     V = x Wvᵀ     y = softmax(Q Kᵀ / √k) V
)";
  const Words words{"the", "cat", "sat", "down"}, numbers = indices(3);
  const Tensor x = randn({4, 3}, DType::f64);
  const nn::SingleHeadAttention attention(x.size(1), DType::f64);
  const Tensor queries = attention.toqueries(x), keys = attention.tokeys(x), values = attention.tovalues(x);
  const Tensor weights = nn::attention_weights(queries, keys, Mask::none());
  print(out, beside({titled("Q, the queries", table(queries, words, numbers, 2)),
                     titled("K, the keys", table(keys, words, numbers, 2)),
                     titled("V, the values", table(values, words, numbers, 2))}));
  print(out, beside({titled("weights = softmax(Q Kᵀ / √k)", table(weights, words, words, 2)),
                     titled("y = weights V", table(matmul(weights, values), words, numbers, 2))}));

  out << R"(
  Without the three matrices, a word's score for another is also the other's score for it. With
  them, the cat may look at the verb while the verb looks elsewhere.
)";
  const Tensor plain = matmul(x, x.transpose(0, 1)), parted = matmul(queries, keys.transpose(0, 1));
  auto score = [](const Tensor& scores, int64_t from, int64_t to) {
    return fixed(scores.select(0, from).select(0, to).item(), 4);
  };
  print(out, align({{"", "x xᵀ", "Q Kᵀ"},
                    {"the score of \"cat\" for \"sat\"", score(plain, 1, 2), score(parted, 1, 2)},
                    {"the score of \"sat\" for \"cat\"", score(plain, 2, 1), score(parted, 2, 1)}},
                   1));
}

}  // namespace reel::apps
