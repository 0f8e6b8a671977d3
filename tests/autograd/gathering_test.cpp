#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

TEST_CASE("cat joins along any axis") {
  const Tensor a = f64({2, 2}, {1, 2, 3, 4}), b = f64({2, 1}, {5, 6});
  CHECK(cat({a, b}, 1).to_vector() == Values{1, 2, 5, 3, 4, 6});
  CHECK(cat({a, b.transpose(0, 1)}, 0).to_vector() == Values{1, 2, 3, 4, 5, 6});
  CHECK(cat({a, a.transpose(0, 1)}, -1).to_vector() == Values{1, 2, 1, 3, 3, 4, 2, 4});
  CHECK(cat({a}, 0).to_vector() == a.to_vector());
  CHECK_FALSE(cat({a}, 0).shares_storage(a));
  CHECK(cat({a, zeros({0, 2}, DType::f64)}, 0).to_vector() == a.to_vector());
  CHECK(cat({zeros({0, 2}), zeros({0, 2})}, 0).shape() == Shape{0, 2});
}

TEST_CASE("cat refuses what does not continue") {
  CHECK_THROWS_WITH(cat({}, 0), ContainsSubstring("cat: there is nothing to join"));
  CHECK_THROWS_WITH(cat({ones({2, 2}), ones({2, 3})}, 0), ContainsSubstring("cat: (2, 3) does not continue (2, 2)"));
  CHECK_THROWS_WITH(cat({ones({2, 2}), ones({2})}, 0), ContainsSubstring("cat: (2,) does not continue (2, 2)"));
  CHECK_THROWS_WITH(cat({ones({2}), ones({2, 2})}, 0), ContainsSubstring("cat: (2, 2) does not continue (2,)"));
  CHECK_THROWS_WITH(cat({ones({2}), ones({2}, DType::f64)}, 0), ContainsSubstring("cat: operands are f32 and f64"));
  CHECK_THROWS_WITH(cat({ones({2})}, 1), ContainsSubstring("cat: there is no axis 1"));
  CHECK_THROWS_AS(cat({scalar(1), scalar(2)}, 0), Error);
}

TEST_CASE("stack joins along a new axis") {
  const Tensor a = f64({2}, {1, 2}), b = f64({2}, {3, 4});
  CHECK(stack({a, b}, 0).to_vector() == Values{1, 2, 3, 4});
  CHECK(stack({a, b}, 1).to_vector() == Values{1, 3, 2, 4});
  CHECK(stack({a, b}, -1).shape() == Shape{2, 2});
  CHECK(stack({scalar(1), scalar(2), scalar(3)}, 0).to_vector() == Values{1, 2, 3});
  CHECK_THROWS_WITH(stack({}, 0), ContainsSubstring("stack: there is nothing to join"));
  CHECK_THROWS_WITH(stack({a, ones({3}, DType::f64)}, 0), ContainsSubstring("stack: (3,) and (2,) differ"));
  CHECK_THROWS_WITH(stack({a, ones({2}, DType::f32)}, 0), ContainsSubstring("stack: operands are f64 and f32"));
  CHECK_THROWS_WITH(stack({a, b}, 2),
                    ContainsSubstring("stack: no axis can be inserted at 2 of (2,); need -2 <= axis <= 1"));
}

TEST_CASE("split gives views, the last perhaps shorter") {
  const Tensor x = f64({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const auto parts = split(x, 2, -1);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].to_vector() == Values{1, 2, 6, 7});
  CHECK(parts[2].to_vector() == Values{5, 10});
  CHECK(parts[1].shares_storage(x));
  CHECK(split(x, 100, 0).size() == 1);
  const auto nothing = split(zeros({0, 3}), 2, 0);  // one piece, as in PyTorch: it can be put together again
  REQUIRE(nothing.size() == 1);
  CHECK(cat(nothing, 0).shape() == Shape{0, 3});
  CHECK_THROWS_WITH(split(x, 0, 0), ContainsSubstring("split: pieces of length 0"));
  CHECK_THROWS_WITH(split(x, 1, 2), ContainsSubstring("split: there is no axis 2"));
}

TEST_CASE("slice_scatter puts a slice back") {
  const Tensor x = f64({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(slice_scatter(slice(x, 1, 1, 4, 2), {2, 4}, 1, 1, 2).to_vector() == Values{0, 2, 0, 4, 0, 6, 0, 8});
  CHECK(slice_scatter(f64({2}, {1, 2}), {4}, 0, 1).to_vector() == Values{0, 1, 2, 0});
  CHECK(slice_scatter(zeros({0}), {3}, 0, 3).to_vector() == Values{0, 0, 0});
  for (const auto& [y, shape, start, step] : {std::tuple(ones({2}), Shape{2}, 1, 1),
                                              {ones({2}), Shape{2}, -1, 1},
                                              {ones({2}), Shape{3}, 0, 0},
                                              {ones({2}), Shape{3}, 0, 3},
                                              {ones({2, 2}), Shape{3, 3}, 0, 1},
                                              {ones({2}), Shape{3, 3}, 0, 1}}) {
    CHECK_THROWS_WITH(slice_scatter(y, shape, 0, start, step),
                      ContainsSubstring(text("slice_scatter: y ", y.shape(), " does not fit ", shape)));
  }
  CHECK_THROWS_WITH(slice_scatter(ones({2}), {3, 3}, 1, 0), ContainsSubstring("slice_scatter"));
  CHECK(slice_scatter(ones({1}), {3}, 0, 2, std::numeric_limits<int64_t>::max()).to_vector() == Values{0, 0, 1});
}

TEST_CASE("gather takes elements along an axis, scatter_add adds them up there") {
  const Tensor x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(gather(x, 1, Ids({2, 1}, {2, 0})).to_vector() == Values{3, 4});
  CHECK(gather(x, -1, Ids({2, 4}, {2, 0, 0, 1, 1, 1, 2, 0})).to_vector() == Values{3, 1, 1, 2, 5, 5, 6, 4});
  CHECK(gather(x, 0, Ids({1, 3}, {1, 0, 1})).to_vector() == Values{4, 2, 6});
  CHECK(gather(x.transpose(0, 1), 0, Ids({1, 2}, {2, 0})).to_vector() == Values{3, 4});
  CHECK(gather(f64({3}, {1, 2, 3}), -1, Ids({1})).item() == 2);
  CHECK(gather(x, 1, Ids::zeros({2, 0})).shape() == Shape{2, 0});
  CHECK(gather(zeros({0, 3}), 1, Ids::zeros({0, 2})).shape() == Shape{0, 2});

  const Tensor y = f64({2, 2}, {7, 8, 9, 10});
  CHECK(scatter_add(y, 1, Ids({2, 2}, {2, 0, 1, 1}), 3).to_vector() == Values{8, 0, 7, 0, 19, 0});
  CHECK(scatter_add(y, 0, Ids({2, 2}, {1, 0, 1, 1}), 2).to_vector() == Values{0, 8, 16, 10});
  CHECK(scatter_add(y.transpose(0, 1), 0, Ids({2, 2}, {0, 0, 0, 0}), 1).to_vector() == Values{15, 19});
  CHECK(scatter_add(zeros({2, 0}), -1, Ids::zeros({2, 0}), 3).to_vector() == Values{0, 0, 0, 0, 0, 0});
}

TEST_CASE("gather and scatter_add refuse indices that do not fit") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH(gather(x, 1, Ids({2, 1}, {0, 3})), ContainsSubstring("gather: the index 3 is outside 0 .. 2"));
  CHECK_THROWS_WITH(gather(x, 1, Ids({2, 1}, {-1, 0})), ContainsSubstring("gather: the index -1"));
  CHECK_THROWS_WITH(gather(x, 1, Ids::zeros({1, 3})), ContainsSubstring("gather: index is (1, 3), x is (2, 3)"));
  CHECK_THROWS_WITH(gather(x, 1, Ids({0, 0})), ContainsSubstring("gather: index is (2,), x is (2, 3)"));
  CHECK_THROWS_WITH(gather(x, 2, Ids({0, 0})), ContainsSubstring("gather: there is no axis 2"));
  CHECK_THROWS_WITH(gather(zeros({1, 0}), 1, Ids::zeros({1, 1})),
                    "gather: the index 0 is out of range: there is nothing to choose from");
  CHECK_THROWS_WITH(scatter_add(ones({2}), 0, Ids({0, 3}), 3), ContainsSubstring("scatter_add: the index 3"));
  CHECK_THROWS_WITH(scatter_add(ones({2}), 0, Ids({0}), 3), ContainsSubstring("index is (1,), y is (2,)"));
  CHECK_THROWS_WITH(scatter_add(ones({2}), 1, Ids({0, 0}), 3), ContainsSubstring("scatter_add: there is no axis 1"));
}

TEST_CASE("embedding looks rows up, and adds their gradients up") {
  const Tensor table = f64({3, 2}, {1, 2, 3, 4, 5, 6});
  const Ids ids({2, 2}, {2, 0, 2, 2});
  CHECK(embedding(table, ids).shape() == Shape{2, 2, 2});
  CHECK(embedding(table, ids).to_vector() == Values{5, 6, 1, 2, 5, 6, 5, 6});
  CHECK(embedding(table.transpose(0, 1), Ids({1, 0})).to_vector() == Values{2, 4, 6, 1, 3, 5});
  CHECK(gradient_of([&](const Tensor& t) { return embedding(t, ids); }, table) == Values{1, 1, 0, 0, 3, 3});
  CHECK(embedding(table, Ids::zeros({0})).shape() == Shape{0, 2});
  CHECK(embedding(table, Ids(Shape{}, {1})).to_vector() == Values{3, 4});
  CHECK(embedding_sum(f64({3, 1}, {1, 10, 100}), Ids({1, 0, 1}), 3).to_vector() == Values{10, 101, 0});
}

TEST_CASE("embedding refuses ids outside the table") {
  const Tensor table = ones({3, 2});
  CHECK_THROWS_WITH(embedding(table, Ids({0, 3})), ContainsSubstring("embedding: the index 3 is outside 0 .. 2"));
  CHECK_THROWS_WITH(embedding(table, Ids({-1})), ContainsSubstring("embedding: the index -1"));
  CHECK_THROWS_WITH(embedding(ones({3}), Ids({0})), ContainsSubstring("embedding: table is (3,)"));
  CHECK_THROWS_WITH(embedding_sum(ones({2, 2}), Ids({0, 3}), 3), ContainsSubstring("embedding_sum: the index 3"));
  CHECK_THROWS_WITH(embedding_sum(ones({2, 2}), Ids({0, 1}), -1), ContainsSubstring("a table of -1 rows; need 0"));
  CHECK_THROWS_WITH(embedding_sum(ones({2, 2}), Ids({0}), 3),
                    ContainsSubstring("embedding_sum: y is (2, 2), ids are (1,)"));
  CHECK_THROWS_WITH(embedding_sum(scalar(1), Ids(Shape{}, {0}), 3), ContainsSubstring("embedding_sum: y is ()"));
}
