#include "autograd/dtype.h"

#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel;

TEST_CASE("a dtype becomes the type it stands for") {
  CHECK(with_type(DType::f32, []<class T>(T) { return std::is_same_v<T, float>; }));
  CHECK(with_type(DType::f64, []<class T>(T) { return std::is_same_v<T, double>; }));
  CHECK(dtype_of<float> == DType::f32);
  CHECK(dtype_of<double> == DType::f64);
}

TEST_CASE("a dtype has a size and a name") {
  CHECK(size_in_bytes(DType::f32) == 4);
  CHECK(size_in_bytes(DType::f64) == 8);
  CHECK(text(DType::f32, " ", DType::f64) == "f32 f64");
}
