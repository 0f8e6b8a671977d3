#include "autograd/kernels/transpose.h"

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

TEMPLATE_TEST_CASE("transpose_quads turns rows into columns", "[transpose]", float, double) {
  using T = TestType;
  constexpr int64_t row_length = 11, offset = 3, stride = rows_at_once<T> + 1;
  const std::vector<T> matrix = numbers<T>(rows_at_once<T> * row_length);
  const T* rows[rows_at_once<T>];
  for (int64_t i = 0; i < rows_at_once<T>; ++i) rows[i] = matrix.data() + i * row_length;
  std::vector<T> columns(static_cast<std::size_t>(quad<T> * stride), T(-1));
  transpose_quads<T>(rows, offset, columns.data(), stride);
  for (int64_t p = 0; p < quad<T>; ++p) {
    const T* column = columns.data() + p * stride;
    for (int64_t i = 0; i < rows_at_once<T>; ++i) CHECK(column[i] == rows[i][offset + p]);
    CHECK(column[rows_at_once<T>] == T(-1));
  }
}
