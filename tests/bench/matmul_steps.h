#pragma once
// The matrix product in five steps, each the one before it and one idea more. autograd/kernels/MATMUL.md tells what
// each gains and why; matmul_steps_bench.cpp measures them.
//
// All compute c = a b for square matrices of n x n numbers, row by row in memory. To keep one idea in sight, steps 3
// and 4 want n to be a multiple of panel_width; step 5 takes any sizes and strides.

#include <algorithm>

#include "autograd/kernels/matmul.h"
#include "autograd/kernels/pack.h"
#include "autograd/kernels/simd.h"
#include "autograd/kernels/tile.h"

namespace reel::kernels::steps {

/// 1. The definition: every element of c is the scalar product of a row of a and a column of b.
inline void multiply_by_definition(int64_t n, const float* a, const float* b, float* c) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < n; ++p) sum += a[i * n + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
  }
}

/// 2. The same products in another order: every row of c is a sum of rows of b. The inner loop now runs along rows, a
/// vector at a time.
inline void multiply_along_rows(int64_t n, const float* a, const float* b, float* c) {
  std::fill(c, c + n * n, 0.0f);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + p] * b[p * n + j];
    }
  }
}

/// c += a b for Rows x 2 vectors of c, summed up in registers from `depth` products each. The rows of b and c are
/// dense.
template <int Rows>
void add_tile(int64_t depth, Matrix<const float> a, Matrix<const float> b, Matrix<float> c) {
  Vec<float> sum[Rows][2];  // local, and all loops over it unrolled: otherwise it would live in memory
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) sum[i][0] = sum[i][1] = splat(0.0f);
  for (int64_t p = 0; p < depth; ++p) {
    const Vec<float> b0 = load(b.data), b1 = load(b.data + lanes<float>);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vec<float> x = splat(a.data[i * a.row_stride]);
      sum[i][0] = fma(x, b0, sum[i][0]);
      sum[i][1] = fma(x, b1, sum[i][1]);
    }
    a = a.at(0, 1);
    b = b.at(1, 0);
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    float* row = c.data + i * c.row_stride;
    store(row, load(row) + sum[i][0]);
    store(row + lanes<float>, load(row + lanes<float>) + sum[i][1]);
  }
}

/// c += a b for a column of tiles, one below the other; what is left at its end goes row by row.
inline void add_column(int64_t rows, int64_t depth, Matrix<const float> a, Matrix<const float> b, Matrix<float> c) {
  int64_t i = 0;
  for (; i + tile_rows <= rows; i += tile_rows) add_tile<tile_rows>(depth, a.at(i, 0), b, c.at(i, 0));
  for (; i < rows; ++i) add_tile<1>(depth, a.at(i, 0), b, c.at(i, 0));
}

/// 3. Tiles of c that are summed up in registers: what is loaded goes into many products before it is dropped.
inline void multiply_in_registers(int64_t n, const float* a, const float* b, float* c) {
  std::fill(c, c + n * n, 0.0f);
  for (int64_t j = 0; j < n; j += panel_width<float>) {
    add_column(n, n, {a, n, 1}, {b + j, n, 1}, {c + j, n, 1});
  }
}

/// 4. Pieces of a and b that stay in the caches, copied so that each lies together: a panel of b for all the tiles of a
/// column, a block of a for all the panels.
inline void multiply_in_caches(int64_t n, const float* a, const float* b, float* c) {
  constexpr int64_t block_rows = 16 * tile_rows, depth_at_once = 256, width = panel_width<float>;
  alignas(vector_alignment) float block[compact_size<float>(block_rows, depth_at_once)];
  alignas(vector_alignment) float panel[depth_at_once * width];
  std::fill(c, c + n * n, 0.0f);
  for (int64_t i = 0; i < n; i += block_rows) {
    for (int64_t p = 0; p < n; p += depth_at_once) {
      const int64_t rows = std::min(block_rows, n - i), depth = std::min(depth_at_once, n - p);
      const Matrix<const float> near_a = compact<float>({a + i * n + p, n, 1}, rows, depth, block);
      for (int64_t j = 0; j < n; j += width) {
        pack_panel<float>({b + p * n + j, n, 1}, depth, width, panel);
        add_column(rows, depth, near_a, {panel, width, 1}, {c + i * n + j, n, 1});
      }
    }
  }
}

/// 5. The kernel that Reel uses: any sizes and strides, no tile much smaller than the others, several threads.
inline void multiply_as_shipped(int64_t n, const float* a, const float* b, float* c) {
  matmul<float>(n, n, n, {a, n, 1}, {b, n, 1}, c, n);
}

}  // namespace reel::kernels::steps
