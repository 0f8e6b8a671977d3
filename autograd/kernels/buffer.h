#pragma once
// Room for numbers that a kernel needs for a while, and that its thread keeps for the next time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "autograd/kernels/machine.h"

namespace reel::kernels {

template <class T>
class Buffer {
 public:
  /// Room for `size` numbers, which begins where a cache line does: a vector that lies in two of them takes twice as
  /// long to load. It holds what it held, or 0; when it has to grow, that is lost.
  T* room(int64_t size) {
    if (size > size_) {
      size_ = 0;
      numbers_.reset();  // first, so that there is no memory for both
      const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
      numbers_.reset(static_cast<T*>(::operator new(bytes, alignment)));
      std::fill_n(numbers_.get(), size, T(0));
      size_ = size;
    }
    return numbers_.get();
  }

 private:
  static constexpr std::align_val_t alignment{cache_line};
  struct Free {
    void operator()(T* numbers) const { ::operator delete(numbers, alignment); }
  };
  std::unique_ptr<T, Free> numbers_;
  int64_t size_ = 0;
};

}  // namespace reel::kernels
