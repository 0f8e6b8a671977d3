#include "autograd/tensor.h"

#include <limits>

#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

TEST_CASE("an undefined tensor says so") {
  const Tensor nothing;
  CHECK_FALSE(nothing.defined());
  CHECK_THROWS_WITH(nothing.shape(), ContainsSubstring("undefined tensor"));
  CHECK_THROWS_AS(nothing.item(), Error);
  CHECK_THROWS_AS(nothing + ones({2}), Error);
  CHECK_THROWS_AS(ones({2}) + nothing, Error);
  CHECK_THROWS_AS(clone(nothing), Error);
}

TEST_CASE("a tensor knows its shape, strides and type") {
  const Tensor x(Shape{2, 3}, DType::f64);
  CHECK(x.defined());
  CHECK(x.rank() == 2);
  CHECK(x.size(-1) == 3);
  CHECK(x.stride(0) == 3);
  CHECK(x.numel() == 6);
  CHECK(x.strides() == Strides{3, 1});
  CHECK(x.dtype() == DType::f64);
  CHECK_THROWS_WITH(x.size(2), ContainsSubstring("no axis 2"));
}

TEST_CASE("a view stays within the memory that it shows") {
  const Tensor x = arange(10, DType::f64);
  const int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(Tensor(x, {2, 2}, {5, -1}, 4).to_vector() == Values{4, 3, 9, 8});
  CHECK(Tensor(x, {0, 3}, {1, 1}, most).data<double>() == x.data<double>());  // no pointer leaves it, either
  auto leaves = [&](const Shape& shape, const Strides& strides, int64_t offset) {
    CHECK_THROWS_WITH(Tensor(x, shape, strides, offset), ContainsSubstring("every element within the memory"));
  };
  leaves({2, 2}, {5, -1}, 0);
  leaves({2}, {10}, 0);
  leaves({1}, {1}, -1);
  leaves({1}, {1}, 10);
  leaves({3}, {most}, 1);
  leaves({2, 2}, {most, most}, 0);
  leaves({2, 2}, {1}, 0);
  leaves({1}, {1}, most);
  CHECK_THROWS_AS(Tensor(x.slice(0, 1, 2), {1}, {1}, most), Error);
}

TEST_CASE("data is typed") {
  const Tensor x = f64({2}, {1, 2});
  CHECK(x.data<double>()[1] == 2);
  CHECK_THROWS_WITH(x.data<float>(), ContainsSubstring("f32") && ContainsSubstring("f64"));
}

TEST_CASE("item needs exactly one element") {
  CHECK(scalar(3).item() == 3);
  CHECK(f64({1, 1}, {4}).item() == 4);
  CHECK_THROWS_WITH(ones({2}).item(), ContainsSubstring("item") && ContainsSubstring("(2,)"));
  CHECK_THROWS_AS(ones({0}).item(), Error);
}

TEST_CASE("to_vector reads in row-major order, whatever the strides") {
  const Tensor x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(x.transpose(0, 1).to_vector() == Values{1, 4, 2, 5, 3, 6});
  CHECK(x.slice(1, 1, 3).to_vector() == Values{2, 3, 5, 6});
  CHECK(x.select(1, 1).expand({2, 2}).to_vector() == Values{2, 5, 2, 5});
  CHECK(x.slice(0, 2, 2).to_vector().empty());
}

TEST_CASE("handles and views share memory, clones do not") {
  const Tensor x = f64({2, 2}, {1, 2, 3, 4}), same = x, view = x.transpose(0, 1), copied = clone(view);
  CHECK(same.same(x));
  CHECK_FALSE(view.same(x));
  CHECK(view.shares_storage(x));
  CHECK_FALSE(copied.shares_storage(x));
  CHECK(copied.is_contiguous());
  CHECK(copied.to_vector() == Values{1, 3, 2, 4});
  x.data<double>()[1] = 9;
  CHECK(view.to_vector() == Values{1, 3, 9, 4});
  CHECK(copied.to_vector() == Values{1, 3, 2, 4});
}

TEST_CASE("dense copies only where it must") {
  const Tensor x = f64({2, 2}, {1, 2, 3, 4});
  CHECK(contiguous_values(x).shares_storage(x));
  CHECK_FALSE(contiguous_values(x.transpose(0, 1)).shares_storage(x));
  CHECK(contiguous_values(x.transpose(0, 1)).to_vector() == Values{1, 3, 2, 4});
}

TEST_CASE("copy writes through views and converts") {
  const Tensor target = f64({2, 2}, {0, 0, 0, 0});
  copy(tensor({2, 2}, {1, 2, 3, 4}), target.transpose(0, 1));
  CHECK(target.to_vector() == Values{1, 3, 2, 4});
  copy(f64({}, {0.1}).expand({2, 2}), target);
  CHECK(target.to_vector() == Values(4, 0.1));
  const Tensor narrow({2, 2}, DType::f32);
  copy(target, narrow);
  CHECK(narrow.data<float>()[3] == 0.1f);
  CHECK_THROWS_WITH(copy(ones({2, 3}), ones({3, 2})), ContainsSubstring("copy: from (2, 3) to (3, 2)"));
}

TEST_CASE("copy refuses places that repeat, but for none at all") {
  CHECK_THROWS_WITH(copy(zeros({2, 3}), zeros({2, 1}).expand({2, 3})), ContainsSubstring("need strides that nest"));
  CHECK_THROWS_WITH(copy(zeros({3, 2}), Tensor(zeros({4}), {3, 2}, {1, 1})),
                    ContainsSubstring("need strides that nest"));
  CHECK_NOTHROW(copy(zeros({2, 3, 0}), zeros({2, 1, 0}).expand({2, 3, 0})));
}

TEST_CASE("copy reads what was there, even where it writes") {
  const Tensor x = f64({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  copy(x.transpose(0, 1), x);
  CHECK(x.to_vector() == Values{1, 4, 7, 2, 5, 8, 3, 6, 9});
  const Tensor row = arange(2000, DType::f32);
  copy(row.slice(0, 0, 1999), row.slice(0, 1, 2000));
  CHECK(row.to_vector()[1] == 0);
  CHECK(row.to_vector()[1999] == 1998);
  CHECK_THROWS_WITH(copy(ones({2, 2}), zeros({2, 1}).expand({2, 2})),
                    ContainsSubstring("copy: to (2, 2)") && ContainsSubstring("(1, 0)"));
}

TEST_CASE("a detached tensor lets no gradient through") {
  const Tensor x = f64({}, {3}).set_requires_grad();
  Tape tape;
  const Tensor y = x * x;
  CHECK(detach(y).shares_storage(y));
  tape.backward(y * detach(y) * detach(x));
  CHECK(x.grad().item() == 2 * 3 * 9 * 3);
}

TEST_CASE("only leaves can require a gradient") {
  Tensor x = ones({2});
  CHECK_FALSE(x.requires_grad());
  CHECK(x.set_requires_grad().same(x));
  CHECK(x.requires_grad());
  Tape tape;
  Tensor y = x * 2.0;
  CHECK_FALSE(y.requires_grad());
  CHECK_THROWS_WITH(y.set_requires_grad(), ContainsSubstring("only a leaf"));
  x.set_requires_grad(false);
  x * 3.0;
  CHECK(tape.size() == 1);
}

TEST_CASE("a gradient has the tensor's shape") {
  Tensor x = ones({2});
  CHECK_FALSE(x.grad().defined());
  x.set_grad(tensor({2}, {3, 4}));
  CHECK(x.grad().to_vector() == Values{3, 4});
  CHECK_THROWS_WITH(x.set_grad(ones({3})), ContainsSubstring("set_grad") && ContainsSubstring("(3,)"));
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a gradient that is set is of the tensor's type, and its own") {
  Tensor x = ones({2}), gradient = ones({2});
  CHECK_THROWS_WITH(x.set_grad(ones({2}, DType::f64)),
                    "set_grad: the gradient is f64, the tensor is f32; they must be equal");
  x.set_grad(gradient);
  gradient.data<float>()[0] = 7;
  CHECK(x.grad().to_vector() == Values{1, 1});
}

TEST_CASE("shapes of more elements than can be counted are refused") {
  const int64_t many = int64_t{1} << 32;
  const std::string why = "has more elements than any memory can hold";
  CHECK_THROWS_WITH(ones({1}).expand({many, many}), ContainsSubstring(why));
  CHECK_THROWS_WITH(zeros({0}).view({many, 0, many}), ContainsSubstring(why));
  CHECK_THROWS_WITH(Ids::zeros({many, many}), ContainsSubstring(why));
  CHECK_THROWS_WITH(Ids::zeros({-1}), "Ids::zeros: the shape (-1,) has a negative size");
  CHECK_THROWS_WITH(Ids({-2, -3}, {1, 2, 3, 4, 5, 6}), ContainsSubstring("has a negative size"));
}

TEST_CASE("methods are the functions of the same name") {
  const Tensor x = f64({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(same_bits(x.view({6}), view(x, {6})));
  CHECK(same_bits(x.reshape({3, -1}), reshape(x, {3, 2})));
  CHECK(same_bits(x.transpose(1, 2), transpose(x, 1, 2)));
  CHECK(same_bits(x.permute({2, 0, 1}), permute(x, {2, 0, 1})));
  CHECK(same_bits(x.slice(2, 0, 3, 2), slice(x, 2, 0, 3, 2)));
  CHECK(same_bits(x.select(1, 1), select(x, 1, 1)));
  CHECK(same_bits(x.expand({4, 2, 3}), expand(x, {4, 2, 3})));
  CHECK(same_bits(x.squeeze(0), squeeze(x, 0)));
  CHECK(same_bits(x.unsqueeze(-1), unsqueeze(x, -1)));
  CHECK(same_bits(x.transpose(1, 2).contiguous(), contiguous(transpose(x, 1, 2))));
}

TEST_CASE("a tensor can be printed") {
  auto printed = [](const Tensor& x) { return text(x); };
  CHECK(printed(tensor({2, 3}, {1, 2, 3, 4, 5.5, -6})) == "f32 (2, 3): [[1, 2, 3], [4, 5.5, -6]]");
  CHECK(printed(tensor({2, 3}, {1, 2, 3, 4, 5, 6}).transpose(0, 1)) == "f32 (3, 2): [[1, 4], [2, 5], [3, 6]]");
  CHECK(printed(scalar(0.5, DType::f64)) == "f64 (): 0.5");
  CHECK(printed(zeros({0})) == "f32 (0,): []");
  CHECK(printed(zeros({2, 0})) == "f32 (2, 0): [[], []]");
  CHECK(printed(tensor({6}, {1, 2, 3, 4, 5, 6})) == "f32 (6,): [1, 2, 3, 4, 5, 6]");
  CHECK(printed(tensor({7}, {1, 2, 3, 4, 5, 6, 7})) == "f32 (7,): [1, 2, 3, ..., 5, 6, 7]");
  CHECK(printed(Tensor()) == "undefined");
}
