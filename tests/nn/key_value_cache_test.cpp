#include "nn/key_value_cache.h"

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

/// Times `begin` to `end` of both.
KeysAndValues times(const KeysAndValues& all, int64_t begin, int64_t end) {
  return {all.keys.slice(2, begin, end), all.values.slice(2, begin, end)};
}

bool same(const KeysAndValues& a, const KeysAndValues& b) {
  return same_bits(a.keys, b.keys) && same_bits(a.values, b.values);
}

/// Of two texts and three heads; values are wider than keys. As layers make them: heads are not the second axis in
/// memory.
KeysAndValues random_pair(int64_t T, DType dtype = DType::f64) {
  return {normal({2, T, 3, 4}, 1, dtype).transpose(1, 2), normal({2, T, 3, 5}, 2, dtype).transpose(1, 2)};
}

}  // namespace

TEST_CASE("key-value cache: holds all that was added, in order, however many at a time") {
  for (DType dtype : {DType::f32, DType::f64}) {
    const KeysAndValues all = random_pair(40, dtype);
    Generator generator(1);
    for (int repetition = 0; repetition < 10; ++repetition) {
      KeyValueCache cache;
      CHECK(cache.length() == 0);
      while (cache.length() < 40) {
        const int64_t before = cache.length(), end = std::min<int64_t>(40, before + 1 + generator.below(6));
        CHECK(same(cache.append(times(all, before, end)), times(all, 0, end)));
        CHECK(cache.length() == end);
      }
    }
  }
}

TEST_CASE("key-value cache: keys that are the values are kept once, while both are one") {
  const Tensor states = normal({2, 3, 12, 4}, 5), others = normal({2, 3, 12, 4}, 6);
  auto both = [&](int64_t begin, int64_t end) {
    const Tensor some = states.slice(2, begin, end);
    return KeysAndValues{some, some};
  };
  KeyValueCache cache;
  for (int64_t time = 0; time < 5; ++time) {
    const KeysAndValues seen = cache.append(both(time, time + 1));
    CHECK(same(seen, both(0, time + 1)));
    CHECK(seen.keys.shares_storage(seen.values));
  }
  cache.reorder(Ids({2}, {1, 0}));
  cache.reorder(Ids({2}, {1, 0}));
  KeysAndValues seen = cache.append(both(5, 6));
  CHECK(same(seen, both(0, 6)));
  CHECK(seen.keys.shares_storage(seen.values));

  // From here on, they differ.
  seen = cache.append({states.slice(2, 6, 7), others.slice(2, 6, 7)});
  CHECK(same(seen, {states.slice(2, 0, 7), cat({states.slice(2, 0, 6), others.slice(2, 6, 7)}, 2)}));
  seen = cache.append(both(7, 12));
  CHECK(same(seen, {states, cat({states.slice(2, 0, 6), others.slice(2, 6, 7), states.slice(2, 7, 12)}, 2)}));
  cache.truncate(0);
  seen = cache.append(both(0, 12));
  CHECK(same(seen, {states, states}));
  CHECK(seen.keys.shares_storage(seen.values));
}

TEST_CASE("key-value cache: goes on with the texts that are kept, in their new order") {
  const KeysAndValues all = random_pair(12);
  auto reordered = [](const KeysAndValues& x, const std::vector<int64_t>& order) {
    return KeysAndValues{rows(x.keys, 0, order), rows(x.values, 0, order)};
  };
  KeyValueCache cache;
  cache.reorder(Ids({3}, {0, 0, 0}));  // of nothing
  cache.append(times(all, 0, 5));
  cache.reorder(Ids({3}, {1, 0, 1}));
  const std::vector<int64_t> first{1, 0, 1}, second{0, 1};
  CHECK(same(cache.append(times(reordered(all, first), 5, 9)), times(reordered(all, first), 0, 9)));
  cache.reorder(Ids({2}, {1, 2}));
  CHECK(same(cache.append(times(reordered(all, second), 9, 12)), reordered(all, second)));
}

TEST_CASE("key-value cache: goes on from where it is cut off") {
  const KeysAndValues all = random_pair(12);
  KeyValueCache cache;
  cache.append(times(all, 0, 5));
  cache.append(times(all, 9, 12));
  cache.truncate(5);
  CHECK(cache.length() == 5);
  CHECK(same(cache.append(times(all, 5, 12)), all));
  CHECK_THROWS_WITH(cache.truncate(13), ContainsSubstring("KeyValueCache: it holds 12 tokens, not 13"));
  CHECK_THROWS_AS(cache.truncate(-1), Error);
  CHECK(cache.length() == 12);

  cache.truncate(0);
  const KeysAndValues other = {normal({1, 2, 3, 4}, 3), normal({1, 2, 3, 5}, 4)};  // of another batch
  CHECK(same(cache.append(other), other));
}

TEST_CASE("key-value cache: is not for training, nor for other texts") {
  const KeysAndValues pair = random_pair(2);
  KeyValueCache cache;
  {
    Tape tape;
    CHECK_THROWS_WITH(cache.append(pair), ContainsSubstring("a tape is recording"));
  }
  cache.append(pair);
  CHECK_THROWS_WITH(cache.append({normal({1, 3, 1, 4}, 3), normal({1, 3, 1, 5}, 4)}),
                    ContainsSubstring("(1, 3, 1, 4) do not go on from (2, 3, 2, 4)"));
  CHECK_THROWS_WITH(cache.append({normal({2, 3, 1, 5}, 3), normal({2, 3, 1, 5}, 4)}),
                    ContainsSubstring("keys (2, 3, 1, 5) do not go on from (2, 3, 2, 4)"));
  CHECK_THROWS_WITH(cache.append({normal({2, 3, 1, 4}, 3), normal({2, 3, 1, 4}, 4)}),
                    ContainsSubstring("values (2, 3, 1, 4) do not go on from (2, 3, 2, 5)"));
  for (const Shape& values : {Shape{2, 3, 2, 5}, Shape{2, 2, 1, 5}, Shape{2, 3, 5}}) {
    CHECK_THROWS_WITH(cache.append({normal({2, 3, 1, 4}, 3), normal(values, 4)}),
                      ContainsSubstring(text("KeyValueCache: keys are (2, 3, 1, 4), values are ", values,
                                             "; need (B, H, T, D) and (B, H, T, E)")));
  }
  CHECK_THROWS_WITH(cache.append({zeros({2, 3, 4, 4}), zeros({2, 3, 4, 5})}),
                    ContainsSubstring("keys are f32, values are f32; need one dtype for all, f64"));
  CHECK(cache.length() == 2);
  CHECK(same(cache.append(times(pair, 0, 1)),
             {cat({pair.keys, pair.keys.slice(2, 0, 1)}, 2), cat({pair.values, pair.values.slice(2, 0, 1)}, 2)}));
}

TEST_CASE("key-value cache: no tokens add nothing") {
  const KeysAndValues pair = random_pair(3), none = times(pair, 0, 0);
  KeyValueCache cache;
  CHECK(same(cache.append(none), none));
  CHECK(cache.length() == 0);
  CHECK(same(cache.append(pair), pair));
  CHECK(same(cache.append(none), pair));
  CHECK(cache.length() == 3);
}
