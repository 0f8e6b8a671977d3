#include "autograd/ids.h"

#include "tests/apps/program.h"  // sanitized
#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

TEST_CASE("ids are made from values, zeros and counting") {
  const Ids ids({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(ids.shape() == Shape{2, 3});
  CHECK(ids.rank() == 2);
  CHECK(ids.size(-1) == 3);
  CHECK(ids.numel() == 6);
  CHECK(ids.data()[5] == 6);
  CHECK(Ids({7, 8, 9}).shape() == Shape{3});
  CHECK(Ids().shape() == Shape{0});
  CHECK(to_vector(Ids::zeros({2, 2})) == std::vector<std::int32_t>(4));
  CHECK(Ids::zeros({}).numel() == 1);
  CHECK(to_vector(Ids::arange(3)) == std::vector<std::int32_t>{0, 1, 2});
}

TEST_CASE("ids refuse the wrong number of values") {
  CHECK_THROWS_WITH(Ids({2, 3}, {1, 2}), ContainsSubstring("2 values") && ContainsSubstring("(2, 3) of 6"));
  CHECK(Ids::arange(6).view({2, 3}).unsqueeze(-1).shape() == Shape{2, 3, 1});
  CHECK(Ids::arange(6).unsqueeze(0).shape() == Shape{1, 6});
  CHECK(Ids::arange(6).view({2, -1}).shape() == Shape{2, 3});
  CHECK_THROWS_WITH(Ids::arange(6).unsqueeze(2),
                    ContainsSubstring("Ids::unsqueeze: no axis can be inserted at 2 of (6,)"));
  CHECK_THROWS_WITH(Ids::arange(6).view({4}), ContainsSubstring("(6,)") && ContainsSubstring("(4,)"));
  CHECK_THROWS_WITH(Ids::arange(6).view({-2, -3}), ContainsSubstring("Ids::view") && ContainsSubstring("(-2, -3)"));
  CHECK_THROWS_WITH(Ids::zeros({0}).view({int64_t{1} << 32, int64_t{1} << 32}), ContainsSubstring("Ids::view"));
  CHECK_THROWS_WITH(Ids::arange(6).size(1), ContainsSubstring("Ids::size") && ContainsSubstring("no axis 1"));
}

TEST_CASE("copies and views of ids stay as they were") {
  Ids ids = Ids::zeros({2, 2});
  const auto values = ids.values();
  const Ids copy = ids, flat = ids.view({4});
  CHECK(flat.shape() == Shape{4});
  values[3] = 5;  // through what was taken before they were copied
  ids.data()[0] = 6;
  CHECK(to_vector(ids) == std::vector<std::int32_t>{6, 0, 0, 5});
  CHECK(to_vector(copy) == std::vector<std::int32_t>(4));
  CHECK(to_vector(flat) == std::vector<std::int32_t>(4));
}

TEST_CASE("what a tape keeps of ids stays as it was") {
  const Tensor table = zeros({3, 1}).set_requires_grad();
  Ids ids({0});
  const auto values = ids.values();
  Tape tape;
  const Tensor loss = sum(embedding(table, ids));
  values[0] = 2;
  tape.backward(loss);
  CHECK(table.grad().to_vector() == Values{1, 0, 0});
}

TEST_CASE("ids that no 32 bits hold are refused") {
  CHECK_THROWS_WITH(Ids::arange((int64_t{1} << 31) + 1), ContainsSubstring("at most 2147483648"));
  CHECK_THROWS_WITH(Ids::arange(-1), ContainsSubstring("Ids::arange: -1 ids; need 0 or more"));
}

TEST_CASE("ids that no memory holds are refused") {
  if (sanitized) {
    WARN("not tested: who watches memory ends the process at such a request");
    return;
  }
  for (const Shape& shape : {Shape{int64_t{1} << 40}, Shape{int64_t{1} << 30, int64_t{1} << 29}}) {
    CHECK_THROWS_WITH(Ids::zeros(shape), ContainsSubstring("out of memory: there is no room for ids"));
  }
}
