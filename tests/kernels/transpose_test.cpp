#include "autograd/kernels/transpose.h"

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

TEMPLATE_TEST_CASE("transpose_block turns rows into columns", "[transpose]", float, double) {
  using T = TestType;
  constexpr int64_t row_length = 13, offset = 3, stride = block_rows<T> + 1;
  const std::vector<T> matrix = numbers<T>(block_rows<T> * row_length);
  std::vector<T> columns(static_cast<std::size_t>(block_columns<T> * stride), T(-1));
  transpose_block<T>(matrix.data() + offset, row_length, columns.data(), stride);
  for (int64_t p = 0; p < block_columns<T>; ++p) {
    const T* column = columns.data() + p * stride;
    for (int64_t i = 0; i < block_rows<T>; ++i) CHECK(column[i] == matrix.data()[i * row_length + offset + p]);
    CHECK(column[block_rows<T>] == T(-1));
  }
}
