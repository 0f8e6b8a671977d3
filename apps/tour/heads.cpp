#include <cmath>
#include <ostream>

#include "apps/tour/page.h"
#include "apps/tour/steps.h"
#include "autograd/creation.h"
#include "autograd/error.h"
#include "nn/attention.h"

namespace reel::apps {

void show_heads(std::ostream& out) {
  out << R"(  One attention looks for one thing at a time. Several heads, each with queries, keys and values of
  its own, look for several. They need no loop: folded into the batch, each head is one more
  sentence of it, and one product of matrices serves them all. Afterwards each word collects what
  its heads have found, and a last matrix brings it back to its old width.

      y = [head 1, ..., head h] Wuᵀ        head i = softmax(Qᵢ Kᵢᵀ / √k) Vᵢ
)";
  const int64_t b = 2, t = 4, k = 6, h = 3;
  out << text("\n  Here b = ", b, " sentences of t = ", t, " words of k = ", k, " numbers, and h = ", h, " heads.\n");
  const nn::WideAttention attention(k, h, DType::f64);
  const Tensor x = randn({b, t, k}, DType::f64);

  Shapes shapes;
  auto fold = [&](const Tensor& all) { return all.view({b, t, h, k}).transpose(1, 2).reshape({b * h, t, k}); };
  shapes.show("x", x, "");
  const Tensor wide = shapes.show("toqueries(x)", attention.toqueries(x), "the queries of all heads in a row");
  const Tensor split = shapes.show("  .view({b, t, h, k})", wide.view({b, t, h, k}), "the row, cut into heads");
  const Tensor swapped = shapes.show("  .transpose(1, 2)", split.transpose(1, 2), "heads before words");
  const Tensor queries =
      shapes.show("  .reshape({b * h, t, k})", swapped.reshape({b * h, t, k}), "b h sentences; copies");
  const Tensor keys = shapes.show("keys, in the same way", fold(attention.tokeys(x)), "");
  const Tensor values = shapes.show("values, in the same way", fold(attention.tovalues(x)), "");
  const Tensor scores = shapes.show("matmul(queries, keys.transpose(1, 2)) / √k",
                                    matmul(queries, keys.transpose(1, 2)) / std::sqrt(static_cast<double>(k)),
                                    "words by words, for each head");
  const Tensor weights = shapes.show("softmax", softmax(scores, -1), "");
  const Tensor found = shapes.show("matmul(weights, values)", matmul(weights, values), "");
  const Tensor unfolded = shapes.show("  .view({b, h, t, k})", found.view({b, h, t, k}), "heads out of the batch");
  const Tensor back = shapes.show("  .transpose(1, 2)", unfolded.transpose(1, 2), "words before heads");
  const Tensor joined = shapes.show("  .reshape({b, t, h * k})", back.reshape({b, t, h * k}), "heads in a row; copies");
  const Tensor y = shapes.show("unifyheads", attention.unifyheads(joined), "as wide as x");
  print(out, shapes.table());

  out << "\n  nn::WideAttention comes to the same, in fewer steps:\n";
  print(out, difference(attention(x, Mask::none()), y));
}

}  // namespace reel::apps
