#pragma once
// OpenBLAS, if this machine has it: found when the program runs, so that nothing is linked.

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "autograd/kernels/matmul.h"
#include "autograd/kernels/simd.h"

namespace reel::bench {

class OpenBlas {
 public:
  explicit OpenBlas(int threads) {
    // Left to itself, it may take a core without AVX-512 where there is one with it.
    if constexpr (kernels::lanes<float> == 16) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    library_ = dlopen("libopenblas.so.0", RTLD_NOW);
    if (!library_) return;
    find(product_, "cblas_sgemm");
    void (*set_threads)(int) = nullptr;
    find(set_threads, "openblas_set_num_threads");
    set_threads(threads);
  }

  bool found() const { return library_ != nullptr; }

  /// "OpenBLAS 0.3.21 ... , core SkylakeX"
  std::string name() const {
    char* (*config)() = nullptr;
    char* (*core)() = nullptr;
    find(config, "openblas_get_config");
    find(core, "openblas_get_corename");
    return std::string(config()) + ", core " + core();
  }

  /// c = a b for dense matrices, each of them perhaps transposed.
  void matmul(std::int64_t m, std::int64_t n, std::int64_t k, kernels::Matrix<const float> a,
              kernels::Matrix<const float> b, float* c) const {
    constexpr int row_major = 101, as_it_is = 111, transposed = 112;
    auto size = [](std::int64_t value) { return static_cast<int>(value); };
    auto order = [](auto matrix) { return matrix.col_stride == 1 ? as_it_is : transposed; };
    auto row = [&](auto matrix) { return size(matrix.col_stride == 1 ? matrix.row_stride : matrix.col_stride); };
    product_(row_major, order(a), order(b), size(m), size(n), size(k), 1, a.data, row(a), b.data, row(b), 0, c,
             size(n));
  }

 private:
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
  }

  void* library_;
  void (*product_)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*,
                   int) = nullptr;
};

}  // namespace reel::bench
