#include "nn/packing.h"

#include "autograd/gradcheck.h"
#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

constexpr std::int32_t pad = 0;

const Ids tokens({3, 3}, {5, 6, 7, 8, 9, pad, 4, pad, pad});

}  // namespace

TEST_CASE("packing: tokens alone, one text after the other") {
  const Packing packing(tokens, pad);
  CHECK(packing.batch() == 3);
  CHECK(to_vector(packing.pack(tokens)) == std::vector<std::int32_t>{5, 6, 7, 8, 9, 4});
  CHECK(to_vector(packing.times()) == std::vector<std::int32_t>{0, 1, 2, 0, 1, 0});
  CHECK(to_vector(packing.starts()) == std::vector<std::int32_t>{0, 3, 5, 6});
  CHECK(to_vector(packing.padding()) == std::vector<std::int32_t>{0, 0, 0, 0, 0, 1, 0, 1, 1});
  CHECK(packing.has_padding());

  const Tensor x = normal({3, 3, 2}, 1), packed = packing.pack(x);
  CHECK(same_bits(packed, rows(x.view({9, 2}), 0, {0, 1, 2, 3, 4, 6})));
  const Values back = packing.unpack(packed).to_vector(), before = x.to_vector();
  for (std::size_t i = 0; i < back.size(); ++i) {
    CHECK(back[i] == (tokens.data()[i / 2] == pad ? 0 : before[i]));
  }
}

TEST_CASE("packing: padding may stand anywhere, and be all there is") {
  const Packing gaps(Ids({1, 4}, {pad, 3, pad, 2}), pad);
  CHECK(to_vector(gaps.times()) == std::vector<std::int32_t>{1, 3});
  CHECK(to_vector(gaps.starts()) == std::vector<std::int32_t>{0, 2});
  const Packing nothing(Ids::zeros({2, 3}), pad);
  CHECK(to_vector(nothing.starts()) == std::vector<std::int32_t>{0, 0, 0});
  CHECK(nothing.pack(normal({2, 3, 4}, 2)).shape() == Shape{0, 4});
  CHECK(nothing.unpack(normal({0, 4}, 3)).to_vector() == Values(24, 0));
}

TEST_CASE("packing: where nothing is padding, nothing is copied") {
  const Tensor x = normal({2, 3, 4}, 4);
  for (const Packing& packing : {Packing::whole({2, 3}), Packing(Ids({2, 3}, {1, 2, 3, 4, 5, 6}), pad)}) {
    CHECK_FALSE(packing.has_padding());
    CHECK(packing.pack(x).shares_storage(x));
    CHECK(packing.unpack(packing.pack(x)).shares_storage(x));
    CHECK(same_bits(packing.unpack(packing.pack(x)), x));
  }
  CHECK(to_vector(Packing::whole({2, 2}).pack(Ids({2, 2}, {0, 1, 0, 2}))) == std::vector<std::int32_t>{0, 1, 0, 2});
}

TEST_CASE("packing: gradients") {
  const Packing packing(tokens, pad);
  CHECK(gradcheck([&](const auto& in) { return packing.pack(in[0]); }, {normal({3, 3, 2}, 5)}).problem == "");
  CHECK(gradcheck([&](const auto& in) { return packing.unpack(in[0]); }, {normal({6, 2}, 6)}).problem == "");
}

TEST_CASE("packing: texts are padded or packed, and stay what they are") {
  const Packing packing(tokens, pad);
  const Tensor x = normal({3, 3, 2}, 7);
  const Texts padded(x), packed(packing.pack(x), packing);
  CHECK(padded.batch() == 3);
  CHECK(packed.batch() == 3);
  CHECK(padded.padded().same(x));
  CHECK(same_bits(packed.padded(), packing.unpack(packing.pack(x))));
  CHECK(padded.like_these(x).same(x));
  CHECK(same_bits(packed.like_these(x), packed.vectors));
  CHECK(same_bits(packed.with(packed.vectors * 2.0).padded(), packed.padded() * 2.0));
}

// They keep a pointer to their packing, which must not be a temporary.
static_assert(std::is_constructible_v<Texts, Tensor, const Packing&>);
static_assert(!std::is_constructible_v<Texts, Tensor, Packing>);

TEST_CASE("packing: what does not fit is an error") {
  const Packing packing(tokens, pad);
  CHECK_THROWS_WITH(Packing(Ids({2}, {1, 2}), pad), ContainsSubstring("tokens are (2,); need (batch, time)"));
  CHECK_THROWS_WITH(packing.pack(Ids::zeros({3, 2})), ContainsSubstring("a table (3, 2) of texts (3, 3)"));
  CHECK_THROWS_WITH(packing.pack(normal({3, 2, 2}, 8)), ContainsSubstring("vectors (3, 2, 2) of texts (3, 3)"));
  CHECK_THROWS_AS(packing.pack(normal({9, 2}, 9)), Error);
  CHECK_THROWS_WITH(packing.unpack(normal({5, 2}, 10)), ContainsSubstring("vectors (5, 2) of 6 tokens"));
}
