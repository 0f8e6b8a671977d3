#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

Tensor counting(const Shape& shape) { return arange(numel(shape), DType::f64).view(shape); }

}  // namespace

TEST_CASE("view shares memory and takes one size from the others") {
  const Tensor x = counting({2, 6});
  const Tensor y = view(x, {3, -1});
  CHECK(y.shape() == Shape{3, 4});
  CHECK(y.shares_storage(x));
  CHECK(y.to_vector() == x.to_vector());
  CHECK(view(scalar(1), {1, 1}).shape() == Shape{1, 1});
  CHECK(view(ones({1, 1}), {}).shape() == Shape{});
  CHECK(view(zeros({0, 3}), {3, 0, 2}).shape() == Shape{3, 0, 2});
  CHECK(view(zeros({0, 3}), {-1, 3}).shape() == Shape{0, 3});
}

TEST_CASE("view refuses sizes that do not fit") {
  const Tensor x = counting({2, 6});
  CHECK_THROWS_WITH(view(x, {5}), ContainsSubstring("view: (2, 6) holds 12 elements, (5,) does not"));
  CHECK_THROWS_WITH(view(x, {-1, 5}), ContainsSubstring("view: (2, 6) holds 12 elements, (-1, 5) does not"));
  CHECK_THROWS_WITH(view(x, {5, -1}), ContainsSubstring("view: (2, 6) holds 12 elements"));
  CHECK_THROWS_WITH(view(x, {-1, -1}), ContainsSubstring("view") && ContainsSubstring("only one may be -1"));
  CHECK_THROWS_WITH(view(x, {-2, 6}), ContainsSubstring("negative size"));
  CHECK_THROWS_WITH(view(zeros({0}), {0, -1}), ContainsSubstring("view: (0, -1) leaves -1 open"));
  CHECK_THROWS_WITH(view(x, {int64_t{1} << 33, int64_t{1} << 33, -1}),
                    ContainsSubstring("has more elements than any memory"));
  CHECK_THROWS_WITH(reshape(x, {7, -1}), ContainsSubstring("reshape: (2, 6)"));
}

// The same cases as in PyTorch: merging axes needs even steps, splitting one always works.
TEST_CASE("view works where strides allow it") {
  const auto viewed = [](const Tensor& x, const Shape& shape) {
    const Tensor y = view(x, shape);
    return y.shares_storage(x) && y.shape() == shape && y.to_vector() == x.to_vector();
  };
  const Tensor x = counting({2, 3, 4});
  CHECK(viewed(x, {24}));
  CHECK(viewed(x, {4, 6}));
  CHECK(viewed(x.transpose(0, 1), {3, 2, 2, 2}));  // splits only
  CHECK(viewed(x.transpose(0, 1), {3, 2, 4}));
  CHECK(viewed(x.permute({2, 0, 1}), {4, 6}));  // merges the two that step evenly
  CHECK(viewed(x.permute({2, 0, 1}), {2, 2, 3, 2}));
  CHECK(viewed(x.slice(2, 0, 2), {6, 2}));
  CHECK(viewed(x.slice(2, 0, 4, 2), {6, 2}));  // steps of 2 are even, too
  CHECK(viewed(x.slice(2, 0, 4, 2), {12}));
  CHECK(viewed(x.slice(1, 0, 2), {2, 8}));
  CHECK(viewed(x.select(1, 1), {2, 2, 2}));
  CHECK(viewed(counting({3, 1}).expand({3, 4}), {3, 2, 2}));  // an expanded axis splits
  CHECK(viewed(counting({3}).expand({2, 2, 3}), {4, 3}));     // two expanded axes merge
  CHECK(viewed(x.transpose(0, 1).unsqueeze(1), {3, 1, 1, 2, 4}));
  CHECK(viewed(x.slice(1, 0, 1), {2, 4}));  // an axis of size 1 has no stride to mind
  CHECK(viewed(x.slice(1, 0, 1).transpose(0, 1), {1, 2, 4}));
}

TEST_CASE("where strides do not allow a view, view throws and reshape copies") {
  const Tensor x = counting({2, 3, 4});
  const std::vector<std::pair<Tensor, Shape>> cases = {{x.transpose(0, 1), {6, 4}},
                                                       {x.transpose(1, 2), {24}},
                                                       {x.transpose(0, 2), {4, 6}},
                                                       {x.slice(2, 0, 3), {18}},
                                                       {x.slice(1, 0, 2), {4, 2, 2, 1}},
                                                       {x.slice(1, 0, 2), {16}},
                                                       {counting({3, 1}).expand({3, 4}), {12}},
                                                       {counting({3}).expand({2, 3}), {6}},
                                                       {counting({3}).expand({2, 3}), {3, 2}}};
  for (const auto& [from, shape] : cases) {
    INFO(from.shape() << " " << from.strides() << " to " << shape);
    CHECK_THROWS_WITH(view(from, shape), ContainsSubstring(text("view: ", from.shape(), " with the strides ")) &&
                                             ContainsSubstring("reshape()"));
    const Tensor copied = reshape(from, shape);
    CHECK_FALSE(copied.shares_storage(from));
    CHECK(copied.shape() == shape);
    CHECK(copied.to_vector() == from.to_vector());
    CHECK(view(from.contiguous(), shape).to_vector() == from.to_vector());
  }
}

TEST_CASE("reshape shares memory where it can, contiguous copies only where it must") {
  const Tensor x = counting({2, 3});
  CHECK(reshape(x, {3, 2}).shares_storage(x));
  CHECK(reshape(x, {2, 3}).same(x));
  CHECK(contiguous(x).same(x));
  const Tensor copied = contiguous(x.transpose(0, 1));
  CHECK(copied.is_contiguous());
  CHECK_FALSE(copied.shares_storage(x));
  CHECK(copied.to_vector() == Values{0, 3, 1, 4, 2, 5});
}

TEST_CASE("permute and transpose") {
  const Tensor x = counting({2, 3, 4});
  const Tensor y = permute(x, {2, 0, -2});
  CHECK(y.shape() == Shape{4, 2, 3});
  CHECK(y.strides() == Strides{1, 12, 4});
  CHECK(y.select(0, 1).select(0, 1).to_vector() == Values{13, 17, 21});
  CHECK(transpose(x, 0, -1).shape() == Shape{4, 3, 2});
  CHECK(same_bits(transpose(x, 1, 1), x));
  CHECK_THROWS_WITH(permute(x, {0, 1}), ContainsSubstring("permute: x (2, 3, 4) has 3 axes, 2 are named"));
  CHECK_THROWS_WITH(permute(x, {0, 1, 1}), ContainsSubstring("permute: axis 1 is named twice"));
  CHECK_THROWS_WITH(permute(x, {0, 1, 3}), ContainsSubstring("permute: there is no axis 3"));
  CHECK_THROWS_WITH(transpose(x, 0, 3), ContainsSubstring("transpose: there is no axis 3"));
}

TEST_CASE("slices clamp their ends") {
  const Tensor x = counting({5});
  CHECK(slice(x, 0, 1, 3).to_vector() == Values{1, 2});
  CHECK(slice(x, 0, -2, 100).to_vector() == Values{3, 4});
  CHECK(slice(x, 0, -100, -3).to_vector() == Values{0, 1});
  CHECK(slice(x, 0, 0, 5, 2).to_vector() == Values{0, 2, 4});
  CHECK(slice(x, -1, 1, 5, 3).to_vector() == Values{1, 4});
  CHECK(slice(x, 0, 3, 1).shape() == Shape{0});
  CHECK(slice(x, 0, 7, 9).shape() == Shape{0});
  CHECK(slice(x, 0, 0, std::numeric_limits<int64_t>::max()).numel() == 5);
  CHECK(slice(x, 0, 1, 4).shares_storage(x));
  CHECK(slice(x, 0, 0, 5).shares_storage(x));
  CHECK_FALSE(slice(x, 0, 0, 5).same(x));  // what becomes of the view, as set_requires_grad(), is not x's business
  CHECK(slice(slice(x, 0, 1, 5), 0, 1, 3).to_vector() == Values{2, 3});
  CHECK_THROWS_WITH(slice(x, 0, 0, 5, 0), ContainsSubstring("slice: step is 0"));
  CHECK_THROWS_WITH(slice(x, 1, 0, 5), ContainsSubstring("slice: there is no axis 1"));
}

TEST_CASE("steps and diagonals beyond all axes") {
  const int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(f64({5}, {1, 2, 3, 4, 5}).slice(0, 1, 5, most).to_vector() == Values{2});
  CHECK(slice_scatter(f64({1}, {7}), {3}, 0, 2, most).to_vector() == Values{0, 0, 7});
  CHECK_THROWS_AS(slice_scatter(ones({2}), {5}, 0, 4, most), Error);
  CHECK_THROWS_AS(slice_scatter(ones({1}), {5}, 0, 5, 1), Error);
  CHECK(slice_scatter(ones({2}), {5}, 0, 1, 3).to_vector() == Values{0, 1, 0, 0, 1});
  CHECK(slice_scatter(ones({0}), {2}, 0, 2, 1).to_vector() == Values{0, 0});
  CHECK(tril(ones({2, 2}), most).to_vector() == Values{1, 1, 1, 1});
  CHECK(tril(ones({2, 2}), -most).to_vector() == Values{0, 0, 0, 0});
}

TEST_CASE("select takes one index and drops the axis") {
  const Tensor x = counting({2, 3});
  CHECK(select(x, 0, 1).to_vector() == Values{3, 4, 5});
  CHECK(select(x, -1, -1).to_vector() == Values{2, 5});
  CHECK(select(select(x, 0, 1), 0, 2).shape() == Shape{});
  CHECK_THROWS_WITH(select(x, 1, 3), ContainsSubstring("select: index 3 is outside axis 1 of (2, 3)"));
  CHECK_THROWS_WITH(select(x, 1, -4), ContainsSubstring("select: index -4"));
  CHECK_THROWS_WITH(select(x, 2, 0), ContainsSubstring("select: there is no axis 2"));
}

TEST_CASE("expand repeats without copying") {
  const Tensor x = counting({3, 1});
  const Tensor y = expand(x, {2, -1, 4});
  CHECK(y.shape() == Shape{2, 3, 4});
  CHECK(y.strides() == Strides{0, 1, 0});
  CHECK(y.shares_storage(x));
  CHECK(expand(scalar(5), {2}).to_vector() == Values{5, 5});
  CHECK(expand(x, {3, 0}).shape() == Shape{3, 0});
  CHECK_THROWS_WITH(expand(x, {2, 4}), ContainsSubstring("expand: (3, 1) cannot be repeated to (2, 4)"));
  CHECK_THROWS_WITH(expand(x, {3}), ContainsSubstring("expand: (3, 1) cannot be repeated to (3,)"));
  CHECK_THROWS_WITH(expand(x, {-1, 3, 4}), ContainsSubstring("expand: (3, 1) cannot be repeated to (-1, 3, 4)"));
  CHECK_THROWS_WITH(expand(x, {3, -2}), ContainsSubstring("expand: (3, 1) cannot be repeated to (3, -2)"));
}

TEST_CASE("squeeze and unsqueeze") {
  const Tensor x = counting({2, 1, 3});
  CHECK(squeeze(x, 1).shape() == Shape{2, 3});
  CHECK(squeeze(x, -2).shape() == Shape{2, 3});
  CHECK(squeeze(x, 0).shape() == Shape{2, 1, 3});
  CHECK(unsqueeze(x, 0).shape() == Shape{1, 2, 1, 3});
  CHECK(unsqueeze(x, -1).shape() == Shape{2, 1, 3, 1});
  CHECK(unsqueeze(scalar(1), 0).shape() == Shape{1});
  CHECK(unsqueeze(x.transpose(0, 2), 1).to_vector() == x.transpose(0, 2).to_vector());
  CHECK_THROWS_WITH(squeeze(x, 3), ContainsSubstring("squeeze: there is no axis 3"));
  CHECK_THROWS_WITH(unsqueeze(x, 4),
                    ContainsSubstring("unsqueeze: no axis can be inserted at 4 of (2, 1, 3); need -4 <= axis <= 3"));
  CHECK_THROWS_WITH(unsqueeze(ones({1, 1, 1, 1, 1, 1, 1, 1}), 0),
                    ContainsSubstring("(1, 1, 1, 1, 1, 1, 1, 1) cannot have another axis; 8"));
}

TEST_CASE("gradients go through chains of views") {
  const Tensor x = counting({2, 3, 4});
  const auto f = [](const Tensor& v) {
    return v.transpose(0, 2).slice(0, 1, 4, 2).reshape({6, 2}).select(1, 1).unsqueeze(0).expand({5, 6}) * 2.0;
  };
  Values expected(24, 0);
  for (const std::size_t j : {0u, 1u, 2u}) {
    for (const std::size_t k : {1u, 3u}) expected[12 + 4 * j + k] = 10;
  }
  CHECK(gradient_of(f, x) == expected);
}

TEST_CASE("gradients of slices add up, in the memory of one of them") {
  const Tensor x = ones({64, 1024}, DType::f64).set_requires_grad();
  const std::size_t bytes = 64 * 1024 * sizeof(double);
  const Tensor factors = arange(64, DType::f64);
  Tape tape;
  Tensor loss = zeros({}, DType::f64);
  for (int64_t i = 0; i < 64; ++i) loss = loss + sum(x.select(0, i) * factors.select(0, i));
  loss = loss + sum(x.slice(1, 0, 1024, 1023));
  const std::size_t before = memory_stats().current;
  reset_peak_memory();
  tape.backward(loss);
  CHECK(memory_stats().peak - before < bytes + bytes / 2);
  const Values dx = x.grad().to_vector();
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(dx[i * 1024] == static_cast<double>(i) + 1);
    CHECK(dx[i * 1024 + 1] == static_cast<double>(i));
    CHECK(dx[i * 1024 + 1023] == static_cast<double>(i) + 1);
  }
}

TEST_CASE("gradients of slices that overlap add up, and leave alone what somebody holds") {
  auto loss_of = [](const Tensor& h) {
    const Tensor products = h.slice(1, 1, 4, 2) * h.slice(1, 0, 2);
    return sum(h.slice(1, 0, 3)) + sum(h.slice(1, 2, 2)) + sum(products) + sum(h.select(0, 1));
  };
  const Tensor x = counting({3, 4});
  Values expected;
  for (int row = 0; row < 3; ++row) {
    const double *h = x.data<double>() + 4 * row, all = row == 1 ? 1 : 0;
    for (const double dh : {1 + h[1], 1 + h[0] + h[3], 1.0, h[1]}) expected.push_back(dh + all);
  }
  CHECK(gradient_of(loss_of, x) == expected);
  CHECK(gradient_of([&](const Tensor& leaf) { return loss_of(leaf * 1.0); }, x) == expected);
  const Tensor leaf = copy_of(x).set_requires_grad();
  {
    Tape tape;
    const Tensor h = leaf * 1.0;
    const std::vector<Tensor> both = tape.gradients(loss_of(h), {h, leaf});
    CHECK(both[0].to_vector() == expected);
    CHECK(both[1].to_vector() == expected);
    CHECK(tape.gradients(loss_of(leaf), {leaf}, CreateGraph::yes)[0].to_vector() == expected);
    tape.backward(loss_of(leaf));
  }
  const Tensor held = leaf.grad();
  Tape tape;
  tape.backward(loss_of(leaf));
  CHECK(held.to_vector() == expected);
  CHECK(leaf.grad().to_vector() == (held * 2.0).to_vector());
}

TEST_CASE("views of empty tensors") {
  const Tensor x = zeros({2, 0, 3}, DType::f64);
  CHECK(transpose(x, 0, 1).shape() == Shape{0, 2, 3});
  CHECK(slice(x, 1, 0, 5).shape() == Shape{2, 0, 3});
  CHECK(select(x, 2, 1).shape() == Shape{2, 0});
  CHECK(unsqueeze(x, 1).shape() == Shape{2, 1, 0, 3});
  CHECK(contiguous(transpose(x, 0, 1)).shape() == Shape{0, 2, 3});
  const auto f = [](const auto& in) { return in[0].transpose(0, 2).select(0, 1).reshape({0}); };
  CHECK(gradients_of(f, {x})[0].shape() == x.shape());
}
