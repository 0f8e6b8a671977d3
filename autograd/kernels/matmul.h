#pragma once
// The matrix product c = a b, blocked for registers and caches.
//
// A product of m x k by k x n matrices does 2 m n k operations on m k + k n numbers, so it can run at the speed of the
// multipliers instead of the memory, if every number that is loaded is used many times. How matmul.cpp gets there
// follows K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34, 2008), with
// a copied only where its rows collide, or where its columns are many and far apart; MATMUL.md goes there in five
// steps.
//
// T is float or double. The order in which the k products of an element are added depends on sizes and strides alone.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "autograd/kernels/epilogue.h"
#include "autograd/kernels/nest.h"

namespace reel::kernels {

/// Element (i, j) is data[i * row_stride + j * col_stride]; a transposed matrix is one with its strides exchanged.
template <class T>
struct Matrix {
  T* data;
  int64_t row_stride;
  int64_t col_stride;

  operator Matrix<const T>() const requires(!std::is_const_v<T>) { return {data, row_stride, col_stride}; }

  Matrix transposed() const { return {data, col_stride, row_stride}; }
  Matrix at(int64_t i, int64_t j) const { return {data + i * row_stride + j * col_stride, row_stride, col_stride}; }
};

/// Where a matrix may differ from zero: columns i + begin to i + end - 1 of each row i.
struct Band {
  static constexpr int64_t unbounded = std::numeric_limits<std::int64_t>::max() / 4;
  int64_t begin = -unbounded, end = unbounded;

  Band transposed() const { return {1 - end, 1 - begin}; }
};

/// c = a b, with a: m x k, b: k x n, both strided in any way; c: m x n, its rows c_stride apart. Outside `a_band`, a
/// must be zero; most of that is left out.
template <class T>
void matmul(int64_t m, int64_t n, int64_t k, std::type_identity_t<Matrix<const T>> a,
            std::type_identity_t<Matrix<const T>> b, T* c, int64_t c_stride,
            const std::type_identity_t<Epilogue<T>>& epilogue = {}, Band a_band = {});

/// c[i] = a[i] b[i] for every index i of `batch`. Along its axes the matrices of a and b lie a_strides and b_strides
/// elements apart, 0 where all share one; c is contiguous.
template <class T>
void batched_matmul(Sizes batch, int64_t m, int64_t n, int64_t k, std::type_identity_t<Matrix<const T>> a,
                    Sizes a_strides, std::type_identity_t<Matrix<const T>> b, Sizes b_strides, T* c,
                    const std::type_identity_t<Epilogue<T>>& epilogue = {});

}  // namespace reel::kernels
