#include "autograd/kernels/pack.h"

#include <algorithm>
#include <vector>

#include "tests/catch.h"

using namespace reel::kernels;

TEMPLATE_TEST_CASE("pack_panel copies rows, columns and scattered elements", "[pack]", float, double) {
  using T = TestType;
  constexpr int64_t most = 257;
  std::vector<T> memory(static_cast<std::size_t>(3 * most * (most + 3)));
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<T>(i);
  for (int64_t depth : {int64_t{1}, block_columns<T> - 1, block_columns<T>, block_columns<T> + 1, int64_t{127},
                        int64_t{128}, int64_t{129}, most}) {
    for (int64_t width = 1; width <= panel_width<T>; ++width) {
      for (const Matrix<const T>& b : {Matrix<const T>{memory.data(), most, 1},
                                       {memory.data(), 1, most + 3},
                                       {memory.data(), 1, page / static_cast<int64_t>(sizeof(T))},
                                       {memory.data(), 3 * most, 3}}) {
        CAPTURE(depth, width, b.row_stride, b.col_stride);
        std::vector<T> panel(static_cast<std::size_t>(depth * panel_width<T>));
        pack_panel(b, depth, width, panel.data());
        int64_t wrong = 0;
        for (int64_t p = 0; p < depth; ++p) {
          for (int64_t j = 0; j < width; ++j) wrong += panel.data()[p * panel_width<T> + j] != *b.at(p, j).data;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEMPLATE_TEST_CASE("compact copies rows or columns in their order, and a single one of either", "[pack]", float,
                   double) {
  using T = TestType;
  constexpr int64_t apart = 50;
  std::vector<T> memory(static_cast<std::size_t>(apart * apart));
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<T>(i);
  for (const int64_t rows : {1, 2, 17}) {
    for (const int64_t columns : {1, 3, 40}) {
      for (const Matrix<const T>& a : {Matrix<const T>{memory.data(), apart, 1},
                                       {memory.data(), 1, apart},
                                       {memory.data(), apart, 3},
                                       {memory.data(), 1, 1}}) {
        CAPTURE(rows, columns, a.row_stride, a.col_stride);
        std::vector<T> room(static_cast<std::size_t>(compact_size<T>(rows, columns)));
        const Matrix<const T> copy = compact(a, rows, columns, room.data());
        int64_t wrong = 0;
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) wrong += *copy.at(i, j).data != *a.at(i, j).data;
        }
        CHECK(wrong == 0);
        CHECK(std::min(copy.row_stride, copy.col_stride) == 1);
      }
    }
  }
}

TEMPLATE_TEST_CASE("rows of a copy are whole lines, near and in different places", "[pack]", float, double) {
  using T = TestType;
  int64_t wrong = 0;
  for (int64_t columns = 1; columns <= 4096; ++columns) {
    const int64_t stride = compact_stride<T>(columns);
    wrong += stride <= columns || stride > columns + 2 * line<T> || stride % line<T> != 0;
    wrong += collides_for_tiles<T>(stride);
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("pack_tile copies columns, and of the last rows those that are there", "[pack]", float, double) {
  using T = TestType;
  constexpr int64_t depth = 9, stride = 40;
  for (int64_t rows = 1; rows <= tile_stride<T> + 1; ++rows) {
    CAPTURE(rows);
    std::vector<T> memory(static_cast<std::size_t>((depth - 1) * stride + rows));  // ends with the last row
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<T>(i);
    const Matrix<const T> a{memory.data(), 1, stride};
    std::vector<T> tile(static_cast<std::size_t>(depth * tile_stride<T>));
    pack_tile(a, rows, depth, tile.data());
    int64_t wrong = 0;
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t i = 0; i < std::min<int64_t>(rows, tile_rows); ++i) {
        wrong += tile.data()[p * tile_stride<T> + i] != *a.at(i, p).data;
      }
    }
    CHECK(wrong == 0);
  }
}
