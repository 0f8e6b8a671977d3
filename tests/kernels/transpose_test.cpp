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

TEMPLATE_TEST_CASE("transpose turns any number of rows and columns, and writes nothing else", "[transpose]", float,
                   double) {
  using T = TestType;
  constexpr int64_t most = 2 * lanes<T> + 1, stride = most + 2;
  const std::vector<T> from = numbers<T>(most * stride);
  for (int64_t rows = 0; rows <= most; ++rows) {
    for (int64_t columns = 0; columns <= most; ++columns) {
      CAPTURE(rows, columns);
      std::vector<T> to(from.size(), T(100)), want = to;
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) at(want, i * stride + j) = at(from, j * stride + i);
      }
      transpose(rows, columns, from.data(), stride, to.data(), stride);
      CHECK(to == want);
    }
  }
}

TEMPLATE_TEST_CASE("reduce_add_each adds up the lanes of many vectors", "[transpose]", float, double) {
  using T = TestType;
  Vec<T> vectors[lanes<T>];
  std::vector<T> values, sums(static_cast<std::size_t>(lanes<T>), T(0)), result = sums;
  for (int64_t i = 0; i < lanes<T> * lanes<T>; ++i) values.push_back(static_cast<T>(i * i % 31));
  for (int64_t i = 0; i < lanes<T>; ++i) {
    vectors[i] = load(values.data() + i * lanes<T>);
    for (int64_t lane = 0; lane < lanes<T>; ++lane) at(sums, i) += at(values, i * lanes<T> + lane);
  }
  store(result.data(), reduce_add_each(vectors));
  CHECK(result == sums);
}

TEMPLATE_TEST_CASE("interleave_each takes lanes by turns", "[transpose]", float, double) {
  using T = TestType;
  constexpr int64_t count = 4;
  const std::vector<T> values = numbers<T>(count * lanes<T>);
  Vec<T> vectors[count];
  for (int64_t i = 0; i < count; ++i) vectors[i] = load(values.data() + i * lanes<T>);
  interleave_each(vectors);
  std::vector<T> result(values.size());
  for (int64_t i = 0; i < count; ++i) store(result.data() + i * lanes<T>, vectors[i]);
  for (int64_t place = 0; place < count * lanes<T>; ++place) {
    CHECK(at(result, place) == at(values, place % count * lanes<T> + place / count));
  }
}
