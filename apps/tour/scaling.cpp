#include <cmath>
#include <ostream>

#include "apps/common/numbers.h"
#include "apps/tour/page.h"
#include "apps/tour/steps.h"
#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "nn/attention.h"

namespace reel::apps {
namespace {

constexpr int64_t query_count = 512, key_count = 16;

/// Means over the rows of scores (queries, keys).
struct SoftmaxAtWork {
  double spread;    // standard deviation of the scores
  double entropy;   // of their softmax, in nats
  double gradient;  // norm of what comes back through the softmax
};

/// d Σ directions · softmax(scores) / d scores
Tensor softmax_gradient(const Tensor& scores, const Tensor& directions) {
  Tensor leaf = detach(scores);
  leaf.set_requires_grad();
  Tape tape;
  return tape.gradients(sum(directions * softmax(leaf, 1)), {leaf})[0];
}

SoftmaxAtWork measure(const Tensor& scores, const Tensor& directions) {
  const Tensor gradient = softmax_gradient(scores, directions);
  return {.spread = mean(sqrt(var(scores, {1}))).item(),
          .entropy = -mean(sum(softmax(scores, 1) * log_softmax(scores, 1), {1})).item(),
          .gradient = mean(sqrt(sum(gradient * gradient, {1}))).item()};
}

Words cells(int64_t k, const SoftmaxAtWork& at_work) {
  return {std::to_string(k), fixed(at_work.spread, 2), fixed(at_work.entropy, 4), fixed(at_work.gradient, 4)};
}

}  // namespace

void show_scaling(std::ostream& out) {
  out << R"(  The dot product of two vectors of k random numbers is a sum of k random terms: its spread grows
  like √k. Among scores far apart the largest takes all the weight, so that a mean of many words
  becomes a copy of one. There the softmax is flat: its gradient is close to nothing, and so is what
  can be learnt from it. Divided by √k, scores are spread alike at any width.

      weights = softmax(Q Kᵀ / √k)     entropy = -Σ weights log(weights)
)";
  out << text("\n  Means over ", query_count, " random queries, each of which looks at ", key_count,
              " random keys. Where all weights are equal,\n  the entropy is log ", key_count, " = ",
              fixed(std::log(static_cast<double>(key_count)), 4),
              "; where one has it all, it is 0. The gradient is the norm of\n"
              "  d(Σ c · weights) / d scores for random numbers c.\n");

  const Tensor directions = randn({query_count, key_count}, DType::f64);
  std::vector<Words> plain_rows{{"k", "spread", "entropy", "gradient"}}, scaled_rows = plain_rows;
  double gain = 0;
  for (const int64_t k : {4, 16, 64, 256, 1024}) {
    const Tensor queries = randn({query_count, k}, DType::f64), keys = randn({key_count, k}, DType::f64);
    const Tensor scores = matmul(queries, keys.transpose(0, 1));
    const SoftmaxAtWork plain = measure(scores, directions);
    const SoftmaxAtWork scaled = measure(scores / std::sqrt(static_cast<double>(k)), directions);
    plain_rows.push_back(cells(k, plain));
    scaled_rows.push_back(cells(k, scaled));
    gain = scaled.gradient / plain.gradient;
  }
  print(out,
        beside({titled("scores as they are", align(plain_rows, 0)), titled("scores / √k", align(scaled_rows, 0))}));
  out << "\n  In the last row, scaling lets " << fixed(gain, 0) << " times as much gradient through.\n";

  out << "\n  Some divide queries and keys by the fourth root of k each. It comes to the same:\n";
  const Tensor queries = randn({4, 64}, DType::f64), keys = randn({4, 64}, DType::f64);
  const double root = std::pow(64, -0.25);
  const Tensor weights = softmax(matmul(queries * root, keys.transpose(0, 1) * root), 1);
  print(out, difference(nn::attention_weights(queries, keys, Mask::none()), weights));
}

}  // namespace reel::apps
