#include "nn/pooling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel::nn {
namespace {

/// 1 / how many places of each text are no padding, (B, 1).
Tensor one_over_visible(const Ids& padding, DType dtype) {
  const int64_t B = padding.size(0), T = padding.size(1);
  std::vector<double> shares;
  for (int64_t b = 0; b < B; ++b) {
    const auto visible = std::count(padding.data() + b * T, padding.data() + (b + 1) * T, 0);
    shares.push_back(1 / static_cast<double>(std::max<int64_t>(visible, 1)));
  }
  return tensor({B, 1}, shares, dtype);
}

}  // namespace

Tensor pool(Pooling pooling, const Tensor& x, const Ids& padding) {
  if (x.rank() != 3 || padding.shape() != leading(x.shape(), 1)) {
    fail("pool: x is ", x.shape(), ", padding is ", padding.shape(), "; need (B, T, D) and (B, T)");
  }
  const Ids places = padding.view({x.size(0), x.size(1), 1});
  const bool no_places = x.size(1) == 0;  // where there is no maximum, and a sum is 0
  if (pooling == Pooling::mean || no_places) {
    return sum(masked_fill(x, places, 0), {1}) * one_over_visible(padding, x.dtype());
  }
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  const Tensor largest = max(masked_fill(x, places, lowest), 1).values;
  return masked_fill(largest, eq(largest, scalar(lowest, x.dtype())), 0);
}

}  // namespace reel::nn
