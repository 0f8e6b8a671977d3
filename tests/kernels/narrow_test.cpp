#include "autograd/kernels/narrow.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/twins.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

TEMPLATE_TEST_CASE("multiply_narrow adds up along k and along rows", "[narrow]", float, double) {
  using T = TestType;
  if constexpr (has_masks) {
    constexpr int64_t most_rows = 4 * lanes<T> + 5, most_depth = 100, gap = 3;
    const std::vector<T> a = numbers<T>((most_rows + gap) * (most_depth + gap)), bias = numbers<T>(lanes<T>, 3);
    const std::vector<T> b = numbers<T>((lanes<T> + gap) * (most_depth + gap), 2);
    for (const bool along_rows : {false, true}) {
      for (int64_t rows : {int64_t{1}, int64_t{4}, int64_t{5}, lanes<T>, 2 * lanes<T>, most_rows}) {
        for (int64_t depth : {int64_t{0}, int64_t{1}, lanes<T>, int64_t{65}, most_depth}) {
          for (int64_t width = 1; width <= narrow_width<T>; ++width) {
            CAPTURE(along_rows, rows, depth, width);
            const Matrix<const T> left = along_rows ? Matrix<const T>{a.data(), 1, most_rows + gap}
                                                    : Matrix<const T>{a.data(), most_depth + gap, 1};
            const Matrix<const T> right = along_rows ? Matrix<const T>{b.data(), lanes<T> + gap, 1}
                                                     : Matrix<const T>{b.data(), 1, most_depth + gap};
            const int64_t stride = width + gap;
            const std::vector<T> before = numbers<T>(rows * stride, 4);
            std::vector<T> c = before;
            const Epilogue<T> epilogue{
                .accumulate = rows != 4, .bias = rows != 5 ? bias.data() : nullptr, .relu = depth % 2 == 1};
            multiply_narrow<T>(rows, width, depth, left, right, c.data(), stride, epilogue);
            int64_t wrong = 0;
            for (int64_t i = 0; i < rows; ++i) {
              for (int64_t j = 0; j < stride; ++j) {
                double expected = static_cast<double>(at(before, i * stride + j));
                if (j < width) {
                  if (!epilogue.accumulate) expected = 0;
                  for (int64_t p = 0; p < depth; ++p) {
                    expected += static_cast<double>(*left.at(i, p).data) * static_cast<double>(*right.at(p, j).data);
                  }
                  if (epilogue.bias) expected += static_cast<double>(at(bias, j));
                  if (epilogue.relu) expected = std::max(expected, 0.0);
                }
                const double got = static_cast<double>(at(c, i * stride + j));
                wrong += !(std::abs(got - expected) <= 1000 * std::numeric_limits<T>::epsilon());
              }
            }
            CHECK(wrong == 0);
          }
        }
      }
    }
  } else {
    SUCCEED("without masks no product ends in narrow columns");
  }
}

TEMPLATE_TEST_CASE("multiply_narrow keeps NaN through ReLU", "[narrow]", float, double) {
  using T = TestType;
  if constexpr (has_masks) {
    constexpr int64_t rows = 7, depth = 70, bad_row = 2;
    std::vector<T> a(static_cast<std::size_t>(rows * depth), T(-1));
    for (const bool along_rows : {false, true}) {
      for (int64_t width = 1; width <= narrow_width<T>; ++width) {
        const Matrix<T> left = along_rows ? Matrix<T>{a.data(), 1, rows} : Matrix<T>{a.data(), depth, 1};
        const std::vector<T> b(static_cast<std::size_t>(width * depth), T(1));
        const Matrix<const T> right =
            along_rows ? Matrix<const T>{b.data(), width, 1} : Matrix<const T>{b.data(), 1, depth};
        std::vector<T> c(static_cast<std::size_t>(rows * width), T(1));
        *left.at(bad_row, 3).data = std::numeric_limits<T>::quiet_NaN();
        multiply_narrow<T>(rows, width, depth, left, right, c.data(), width, {.relu = true});
        *left.at(bad_row, 3).data = T(-1);
        for (int64_t i = 0; i < rows * width; ++i) {
          CAPTURE(along_rows, width, i);
          CHECK((i / width == bad_row ? std::isnan(at(c, i)) : at(c, i) == 0));
        }
      }
    }
  } else {
    SUCCEED("without masks no product ends in narrow columns");
  }
}
