#include "autograd/kernels/layer_norm.h"

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

namespace {

/// Mean, rstd and normalized row, by the formula and in double.
struct PlainRow {
  double mean = 0, rstd = 0;
  std::vector<double> xhat;

  template <class T>
  PlainRow(const T* x, int64_t n, double epsilon) {
    for (int64_t i = 0; i < n; ++i) mean += x[i] / static_cast<double>(n);
    double variance = 0;
    for (int64_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(n);
    rstd = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < n; ++i) xhat.push_back((x[i] - mean) * rstd);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("layer_norm and its derivative agree with their twins", "[layer_norm]", float, double) {
  using T = TestType;
  const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-12, epsilon = 0.01;
  std::vector<int64_t> sizes = awkward_sizes<T>();
  sizes.push_back(300);  // 27 rows are a piece
  for (const int64_t n : sizes) {
    if (n == 0) continue;
    for (const int64_t rows : {0, 1, 26, 27, 28, 55, 65}) {
      if (rows * n > 40'000) continue;
      for (const bool affine : {true, false}) {
        INFO(rows << " rows of " << n << (affine ? "" : " without weight"));
        const std::vector<T> x = numbers<T>(rows * n, 1), weight = numbers<T>(n, 2), bias = numbers<T>(n, 3),
                             dy = numbers<T>(rows * n, 4), residual = numbers<T>(rows * n, 5);
        std::vector<T> y(x.size() + 1, T(100)), dx = y, mean(static_cast<std::size_t>(rows)), rstd = mean;
        std::vector<T> dweight(static_cast<std::size_t>(n + 1), T(100)), dbias = dweight;
        layer_norm(rows, n, x.data(), affine ? weight.data() : nullptr, affine ? bias.data() : nullptr,
                   static_cast<T>(epsilon), affine ? residual.data() : nullptr, y.data(), mean.data(), rstd.data());
        layer_norm_backward(rows, n, x.data(), affine ? weight.data() : nullptr, mean.data(), rstd.data(), dy.data(),
                            dx.data(), dweight.data(), dbias.data());

        std::vector<double> want_dweight(static_cast<std::size_t>(n)), want_dbias = want_dweight;
        bool values = true, gradients = true;  // one check for all elements: there are many
        for (int64_t r = 0; r < rows; ++r) {
          const PlainRow row(x.data() + r * n, n, epsilon);
          CHECK(at(mean, r) == Approx(row.mean).margin(tolerance));
          CHECK(at(rstd, r) == Approx(row.rstd).epsilon(tolerance));
          double mean_d = 0, mean_dx = 0;
          const auto dxhat = [&](int64_t i) {
            return static_cast<double>(at(dy, r * n + i)) * (affine ? at(weight, i) : T(1));
          };
          for (int64_t i = 0; i < n; ++i) {
            mean_d += dxhat(i) / static_cast<double>(n);
            mean_dx += dxhat(i) * at(row.xhat, i) / static_cast<double>(n);
            at(want_dweight, i) += at(dy, r * n + i) * at(row.xhat, i);
            at(want_dbias, i) += at(dy, r * n + i);
          }
          for (int64_t i = 0; i < n; ++i) {
            const double affine_y = at(row.xhat, i) * at(weight, i) + at(bias, i) + at(residual, r * n + i);
            const double want_y = affine ? affine_y : at(row.xhat, i);
            const double d = row.rstd * (dxhat(i) - mean_d - at(row.xhat, i) * mean_dx);
            values = values && at(y, r * n + i) == Approx(want_y).epsilon(tolerance).margin(tolerance);
            gradients = gradients && at(dx, r * n + i) == Approx(d).epsilon(10 * tolerance).margin(10 * tolerance);
          }
        }
        CHECK(values);
        CHECK(gradients);
        CHECK(y.back() == 100);
        CHECK(dx.back() == 100);
        for (int64_t i = 0; i < n; ++i) {
          const double dw = affine ? at(want_dweight, i) : 100, db = affine ? at(want_dbias, i) : 100;
          CHECK(at(dweight, i) == Approx(dw).epsilon(tolerance).margin(10 * tolerance));
          CHECK(at(dbias, i) == Approx(db).epsilon(tolerance).margin(10 * tolerance));
        }
        CHECK(dweight.back() == 100);
        CHECK(dbias.back() == 100);
      }
    }
  }
}
