#include "autograd/shape.h"

#include <sstream>

#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel;

TEST_CASE("leading: all axes but the last") {
  CHECK(leading({2, 3, 4}, 2) == Dims{2});
  CHECK(leading({2, 3}, 0) == Dims{2, 3});
  CHECK(leading({2}, 2) == Dims{});
}

TEST_CASE("shapes print as tuples") {
  CHECK(text(Shape{2, 3}) == "(2, 3)");
  CHECK(text(Shape{3}) == "(3,)");
  CHECK(text(Shape{}) == "()");
}

TEST_CASE("shapes grow and shrink at any axis") {
  Shape shape{2, 4};
  shape.insert(1, 3);
  CHECK(shape == Shape{2, 3, 4});
  shape.insert(0, 1);
  shape.append(5);
  CHECK(shape == Shape{1, 2, 3, 4, 5});
  shape.erase(0);
  shape.erase(3);
  CHECK(shape == Shape{2, 3, 4});
  shape.erase(1);
  CHECK(shape == Shape{2, 4});
  CHECK(Shape::filled(3, 7) == Shape{7, 7, 7});
}

TEST_CASE("shapes are equal if rank and sizes are") {
  CHECK(Shape{} == Shape{});
  CHECK(Shape{1} != Shape{});
  CHECK(Shape{2, 3} != Shape{3, 2});
  Shape shrunk{2, 3};
  shrunk.erase(1);
  CHECK(shrunk == Shape{2});
}

TEST_CASE("an axis that a shape does not have is refused") {
  Shape shape{2, 3};
  const Shape& constant = shape;
  for (int axis : {-1, 2, 8, -9}) {
    CHECK_THROWS_WITH(shape[axis], ContainsSubstring("shape: (2, 3) has no axis " + std::to_string(axis)));
    CHECK_THROWS_WITH(constant[axis], ContainsSubstring("need 0 <= axis < 2"));
  }
  CHECK_THROWS_AS(Shape{}[0], Error);
  for (int axis : {-1, 2}) {
    CHECK_THROWS_WITH(shape.erase(axis), ContainsSubstring("shape: (2, 3) has no axis " + std::to_string(axis)));
  }
  for (int axis : {-1, 3}) {
    CHECK_THROWS_WITH(shape.insert(axis, 4),
                      "shape: no axis " + std::to_string(axis) + " can be added to (2, 3); need 0 <= axis <= 2");
  }
  CHECK(shape == Shape{2, 3});
  CHECK_THROWS_AS(Shape{}.erase(0), Error);
}

TEST_CASE("a shape has at most eight axes") {
  Shape shape = Shape::filled(8, 1);
  CHECK_THROWS_WITH(shape.append(1), ContainsSubstring("cannot have another axis; 8 is the maximum"));
  CHECK(shape.rank() == 8);
  CHECK_THROWS_AS((Shape{1, 2, 3, 4, 5, 6, 7, 8, 9}), Error);
}

TEST_CASE("numel is the product of the sizes") {
  CHECK(numel({}) == 1);
  CHECK(numel({2, 3, 4}) == 24);
  CHECK(numel({2, 0, 4}) == 0);
}

TEST_CASE("contiguous strides are row-major") {
  CHECK(contiguous_strides({2, 3, 4}) == Strides{12, 4, 1});
  CHECK(contiguous_strides({}) == Strides{});
  CHECK(contiguous_strides({2, 0, 4}) == Strides{4, 4, 1});
}

TEST_CASE("contiguity ignores axes that nobody steps along") {
  CHECK(is_contiguous({2, 3}, {3, 1}));
  CHECK_FALSE(is_contiguous({2, 3}, {1, 2}));
  CHECK_FALSE(is_contiguous({2, 3}, {4, 1}));
  CHECK_FALSE(is_contiguous({2, 3}, {0, 1}));
  CHECK(is_contiguous({}, {}));
  CHECK(is_contiguous({1, 3}, {77, 1}));
  CHECK(is_contiguous({2, 1, 3}, {3, -5, 1}));
  CHECK(is_contiguous({2, 0}, {5, 9}));
}

TEST_CASE("strides nest if elements have places of their own") {
  CHECK(strides_nest({2, 3}, {3, 1}));
  CHECK(strides_nest({3, 2}, {1, 3}));          // transposed
  CHECK(strides_nest({2, 3, 4}, {100, 2, 6}));  // every other number of rows, transposed, with gaps
  CHECK(strides_nest({2, 1, 3}, {3, 0, 1}));    // nobody steps along an axis of one element
  CHECK(strides_nest({}, {}));
  CHECK(strides_nest({2, 0}, {0, 0}));
  CHECK(strides_nest({4}, {-1}));                    // backwards
  CHECK_FALSE(strides_nest({2, 3}, {0, 1}));         // repeated
  CHECK_FALSE(strides_nest({3, 2}, {1, 1}));         // windows that overlap
  CHECK_FALSE(strides_nest({2, 3, 4}, {11, 4, 1}));  // the second matrix begins with the last number of the first
  CHECK(strides_nest({2, 3, 4}, {12, 4, 1}));
}

TEST_CASE("a negative axis counts from the end") {
  CHECK(normal_axis("f", 0, 3) == 0);
  CHECK(normal_axis("f", -1, 3) == 2);
  CHECK(normal_axis("f", -3, 3) == 0);
  CHECK_THROWS_WITH(normal_axis("f", 3, 3), ContainsSubstring("f: there is no axis 3") && ContainsSubstring("3 axes"));
  CHECK_THROWS_WITH(normal_axis("f", 1, 1), ContainsSubstring("in a tensor of 1 axis; need -1 <= axis < 1"));
  CHECK_THROWS_WITH(normal_axis("f", -4, 3), ContainsSubstring("-3 <= axis < 3"));
  CHECK_THROWS_AS(normal_axis("f", 0, 0), Error);
}

TEST_CASE("broadcasting follows NumPy") {
  CHECK(broadcast("f", {2, 3}, {2, 3}) == Shape{2, 3});
  CHECK(broadcast("f", {2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast("f", {3}, {2, 3}) == Shape{2, 3});
  CHECK(broadcast("f", {2, 1}, {1, 3}) == Shape{2, 3});
  CHECK(broadcast("f", {4, 1, 3}, {2, 1}) == Shape{4, 2, 3});
  CHECK(broadcast("f", {}, {2, 3}) == Shape{2, 3});
  CHECK(broadcast("f", {}, {}) == Shape{});
  CHECK(broadcast("f", {1}, {0}) == Shape{0});
  CHECK(broadcast("f", {0, 3}, {1}) == Shape{0, 3});
  CHECK_THROWS_WITH(broadcast("f", {2, 3}, {2}), ContainsSubstring("f: shapes (2, 3) and (2,) do not broadcast"));
  CHECK_THROWS_AS(broadcast("f", {0}, {2}), Error);
}

TEST_CASE("broadcasts_to is one-sided") {
  CHECK(broadcasts_to({3}, {2, 3}));
  CHECK(broadcasts_to({}, {2, 3}));
  CHECK(broadcasts_to({1, 3}, {0, 3}));
  CHECK_FALSE(broadcasts_to({2, 3}, {3}));
  CHECK_FALSE(broadcasts_to({2}, {3}));
  CHECK_FALSE(broadcasts_to({2}, {1}));
}

TEST_CASE("repeated axes have stride 0") {
  CHECK(broadcast_strides({3}, {1}, {2, 3}) == Strides{0, 1});
  CHECK(broadcast_strides({2, 1}, {1, 1}, {4, 2, 5}) == Strides{0, 1, 0});
  CHECK(broadcast_strides({}, {}, {2}) == Strides{0});
  CHECK(broadcast_strides({2, 3}, {1, 2}, {2, 3}) == Strides{1, 2});
}
