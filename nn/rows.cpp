#include "nn/rows.h"

#include <algorithm>

#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel::nn {
namespace {

/// Whether `rows` are 0, 1, ..., count - 1.
bool all_in_order(const Ids& rows, int64_t count) {
  if (rows.numel() != count) return false;
  for (int64_t i = 0; i < count; ++i) {
    if (rows.data()[i] != i) return false;
  }
  return true;
}

}  // namespace

Tensor pick_rows(const Tensor& x, const Ids& rows) {
  const int64_t count = x.size(0);
  if (all_in_order(rows, count)) return x;
  Shape shape = x.shape();
  shape[0] = rows.numel();
  return embedding(x.reshape({count, count == 0 ? 0 : x.numel() / count}), rows).view(shape);
}

Ids pick_rows(const Ids& table, const Ids& rows) {
  const int64_t T = table.size(1);
  Ids result = Ids::zeros({rows.numel(), T});
  for (int64_t i = 0; i < rows.numel(); ++i) {
    const std::int32_t row = rows.data()[i];
    if (row < 0 || row >= table.size(0)) fail("pick_rows: there is no row ", row, " in a table ", table.shape());
    std::copy_n(table.data() + row * T, T, result.data() + i * T);
  }
  return result;
}

Ids append_column(const Ids& table, const Ids& column) {
  const int64_t B = table.size(0), T = table.size(1);
  if (column.numel() != B) fail("append_column: ", column.numel(), " tokens for a table ", table.shape());
  Ids result = Ids::zeros({B, T + 1});
  for (int64_t b = 0; b < B; ++b) {
    std::copy_n(table.data() + b * T, T, result.data() + b * (T + 1));
    result.data()[b * (T + 1) + T] = column.data()[b];
  }
  return result;
}

}  // namespace reel::nn
