#include "autograd/kernels/machine.h"

#include <limits>
#include <thread>

#include "tests/catch.h"

using namespace reel::kernels;

TEMPLATE_TEST_CASE("flush_denormals holds for the thread that calls it", "[machine]", float, double) {
  using T = TestType;
  auto half_of_the_smallest = [] {
    volatile T smallest = std::numeric_limits<T>::min();
    return smallest * T(0.5);
  };
  T elsewhere = 1;
  std::thread([&] {
    flush_denormals();
    elsewhere = half_of_the_smallest();
  }).join();
  CHECK(elsewhere == 0);
}
