// Results whose rows lie a little further apart than they must.

#include "autograd/ops/layout.h"

#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

TEST_CASE("spaced: only rows of a multiple of 4096 bytes lie further apart") {
  CHECK(spaced({3, 1023}, DType::f32).is_contiguous());
  CHECK(spaced({3, 512}, DType::f32).is_contiguous());
  CHECK(spaced({1024}, DType::f32).is_contiguous());
  for (const auto& [dtype, width] :
       {std::pair(DType::f32, 1024), std::pair(DType::f32, 3072), std::pair(DType::f64, 512)}) {
    const Tensor x = spaced({2, 3, width}, dtype);
    CHECK(x.shape() == Shape{2, 3, width});
    CHECK(x.stride(1) > width);
    CHECK(x.stride(1) < width + 64);
    CHECK(x.stride(0) == 3 * x.stride(1));
    copy(away_from_zero(x.shape(), 1, dtype), x);
    CHECK(x.to_vector() == away_from_zero(x.shape(), 1, dtype).to_vector());
  }
  const Tensor heads = spaced({2, 3, 8, 128}, DType::f32, 2);
  CHECK(heads.stride(2) == 128);
  CHECK(heads.stride(1) > 1024);
  CHECK(heads.view({6, 1024}).stride(0) == heads.stride(1));
  CHECK(spaced({0, 1024}, DType::f32).numel() == 0);
  CHECK(spaced({3, 0}, DType::f32).numel() == 0);
}

TEST_CASE("laid_out_as: heads that a view cut out of rows, spaced as these are") {
  const Tensor dense_rows = zeros({2, 5, 1024}), rows = spaced({2, 5, 1024}, DType::f32);
  auto heads = [](const Tensor& x) { return x.view({2, 5, 8, 128}).transpose(1, 2); };
  for (const Tensor& x : {dense_rows, rows, heads(dense_rows), heads(rows)}) {
    CHECK(laid_out_as(x, x.shape()).strides() == x.strides());
  }
  const Tensor narrower = laid_out_as(heads(rows), {2, 8, 5, 3});
  CHECK(narrower.transpose(1, 2).is_contiguous());
  CHECK(laid_out_as(zeros({4, 1, 1024}).expand({4, 3, 1024}), {4, 3, 1024}).is_contiguous());  // rows that repeat
  CHECK(laid_out_as(zeros({7}), {7}).is_contiguous());
}

TEST_CASE("linear: spaced rows hold the same, and so do the gradients that pass them") {
  const std::vector<Tensor> inputs{away_from_zero({2, 5, 4}, 1, DType::f32), away_from_zero({1024, 4}, 2, DType::f32),
                                   away_from_zero({3, 1024}, 3, DType::f32)};
  auto results = [&](bool is_spaced) {
    std::vector<Tensor> leaves;
    for (const Tensor& x : inputs) leaves.push_back(detach(x).set_requires_grad());
    Tape tape;
    const Tensor hidden = is_spaced ? spaced_linear(leaves[0], leaves[1]) : linear(leaves[0], leaves[1]);
    CHECK(hidden.is_contiguous() == !is_spaced);
    const Tensor out = linear(hidden, leaves[2]);
    tape.backward(sum(out * away_from_zero(out.shape(), 9, DType::f32)));
    std::vector<std::vector<double>> values{out.to_vector()};
    for (const Tensor& leaf : leaves) values.push_back(leaf.grad().to_vector());
    return values;
  };
  const auto found = results(true), expected = results(false);
  for (std::size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].size() == expected[i].size());
    for (std::size_t j = 0; j < found[i].size(); ++j)
      CHECK(found[i][j] == Approx(expected[i][j]).epsilon(1e-5).margin(1e-5));
  }
}
