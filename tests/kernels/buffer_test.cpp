#include "autograd/kernels/buffer.h"

#include <algorithm>

#include "tests/catch.h"

using namespace reel::kernels;

TEMPLATE_TEST_CASE("a buffer begins where a cache line does, and grows when it has to", "[buffer]", float, double,
                   std::uint32_t) {
  Buffer<TestType> buffer;
  CHECK(buffer.room(0) == nullptr);
  for (const int64_t size : {1, 3, 17, 1000, 100'000}) {
    TestType* const numbers = buffer.room(size);
    CAPTURE(size);
    CHECK(reinterpret_cast<std::uintptr_t>(numbers) % cache_line == 0);
    CHECK(std::all_of(numbers, numbers + size, [](TestType x) { return x == TestType(0); }));
    std::fill_n(numbers, size, TestType(7));
  }
}

TEST_CASE("a buffer that is large enough stays where it is, with what it holds", "[buffer]") {
  Buffer<float> buffer;
  float* const numbers = buffer.room(10);
  std::fill_n(numbers, 10, 3.0f);
  CHECK(buffer.room(5) == numbers);
  CHECK(buffer.room(10) == numbers);
  CHECK(std::all_of(numbers, numbers + 10, [](float x) { return x == 3.0f; }));
}
