#include <ostream>

#include "apps/tour/page.h"
#include "apps/tour/steps.h"
#include "autograd/creation.h"
#include "autograd/mask.h"
#include "autograd/ops.h"

namespace reel::apps {

void show_masks(std::ostream& out) {
  out << R"(  Some words must not be looked at. Padding, which brings the sentences of a batch to one length,
  means nothing; and a model that learns to guess the next word must not see it. A mask adds -∞ to
  the scores of what is hidden, so that its weight becomes exp(-∞) = 0. Rows are the words that
  look, columns those looked at: padding hides whole columns, the future all right of the diagonal.

      weights = softmax(mask + Q Kᵀ / √k)
)";
  const Words words{"the", "cat", "sat", "<pad>"};
  const std::int32_t pad = 0;
  const Ids tokens({1, 4}, {7, 3, 5, pad});  // a batch of one sentence
  const Mask padding = Mask::padding(tokens, pad), future = Mask::causal(), both = padding & future;

  auto masked = [&](const Mask& mask, const Tensor& scores) { return mask.apply(scores).select(0, 0); };
  const Tensor zero = zeros({1, 4, 4}, DType::f64);
  print(out, beside({titled("padding", table(masked(padding, zero), words, words, 0)),
                     titled("future", table(masked(future, zero), words, words, 0)),
                     titled("both", table(masked(both, zero), words, words, 0))}));

  const Tensor scores = randn({1, 4, 4}, DType::f64);
  auto weights = [&](const Mask& mask) { return table(softmax(masked(mask, scores), -1), words, words, 2); };
  out << R"(
  The weights from random scores. Every row still sums to 1; that of <pad> does no harm, as no word
  looks at it.
)";
  print(out, beside({titled("no mask", weights(Mask::none())), titled("both", weights(both))}));

  out << R"(
  A strict mask, Mask::first(), hides the word itself too. Nothing is left for the first word to
  look at: its row is 0 rather than 0 / 0, and no gradient flows back through it.
)";
  print(out, titled("strict, and padding", weights(Mask::first() & padding)));
}

}  // namespace reel::apps
