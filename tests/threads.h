#pragma once

#include "autograd/kernels/parallel.h"

namespace reel::tests {

/// Sets the number of threads for one scope.
class WithThreads {
 public:
  explicit WithThreads(int count) : before_(kernels::threads()) { kernels::set_threads(count); }
  ~WithThreads() { kernels::set_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

}  // namespace reel::tests
