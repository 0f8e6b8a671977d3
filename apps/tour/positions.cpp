#include "nn/positions.h"

#include <ostream>

#include "apps/tour/page.h"
#include "apps/tour/steps.h"
#include "autograd/ops.h"

namespace reel::apps {

void show_positions(std::ostream& out) {
  out << R"(  Attention does not know order: shuffle the words, and the results are shuffled in the same way. So
  each position t gets a vector of its own, which is added to the embedding of the word that stands
  there. It is made of waves, from fast on the left to slow on the right, like the hands of a clock.

      P[t, 2i] = sin(t / 10000^(2i / k))        P[t, 2i + 1] = cos(t / 10000^(2i / k))
)";
  const int64_t length = 5, width = 10;
  const Tensor positions = nn::sinusoidal_positions(length, width, DType::f64);
  print(out, titled("P: 5 positions, 10 dimensions", table(positions, indices(length), indices(width))));

  out << R"(
  Neighbours are the most alike. How alike two positions are depends on their distance alone, not on
  where in the text they stand: each diagonal of this table holds one number. (Distance 4 is more
  alike than 3: by then the fastest wave is coming round again.)

      similarity[i, j] = P[i] · P[j] / (|P[i]| |P[j]|)
)";
  const Tensor directions = positions / sqrt(sum(positions * positions, {1}, KeepDim::yes));
  const Tensor similarities = matmul(directions, directions.transpose(0, 1));
  print(out, titled("cosine similarity", table(similarities, indices(length), indices(length), 7)));
}

}  // namespace reel::apps
