#include "nn/pooling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel::nn {
namespace {

/// How many places of each text are no padding.
std::vector<double> visible_places(const Ids& padding) {
  const int64_t B = padding.size(0), T = padding.size(1);
  std::vector<double> counts;
  for (int64_t b = 0; b < B; ++b) {
    counts.push_back(static_cast<double>(std::count(padding.data() + b * T, padding.data() + (b + 1) * T, 0)));
  }
  return counts;
}

}  // namespace

Tensor pool(Pooling pooling, const Tensor& x, const Ids& padding) {
  if (x.rank() != 3 || padding.shape() != leading(x.shape(), 1)) {
    fail("pool: x is ", x.shape(), ", padding is ", padding.shape(), "; need (B, T, D) and (B, T)");
  }
  const Tensor visible = tensor({x.size(0), 1}, visible_places(padding), x.dtype());
  const Ids hidden = padding.view({x.size(0), x.size(1), 1});
  const bool no_places = x.size(1) == 0;  // where there is no maximum, and a sum is 0
  if (pooling == Pooling::mean || no_places) {
    return sum(masked_fill(x, hidden, 0), {1}) / maximum(visible, scalar(1, x.dtype()));
  }
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  return masked_fill(max(masked_fill(x, hidden, lowest), 1).values, eq(visible, scalar(0, x.dtype())), 0);
}

}  // namespace reel::nn
