#include "apps/common/nearest.h"

#include <vector>

#include "tests/catch.h"

using reel::apps::edit_distance;
using reel::apps::nearest_name;

TEST_CASE("edit distance", "[nearest]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("abc", "abd") == 1);
  CHECK(edit_distance("abc", "ac") == 1);
  CHECK(edit_distance("abc", "xabc") == 1);
  CHECK(edit_distance("abcd", "abdc") == 1);  // neighbours swapped
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ca", "abc") == 3);  // optimal string alignment: no letter is touched twice
}

TEST_CASE("the nearest name", "[nearest]") {
  std::vector<std::string> names{"batch-size", "num-batches", "learn-rate", "lr-warmup",
                                 "min-lr",     "random-seed", "depth"};
  CHECK(nearest_name("bach-size", names) == "batch-size");
  CHECK(nearest_name("batchsize", names) == "batch-size");
  CHECK(nearest_name("num-b", names) == "num-batches");
  CHECK(nearest_name("dpeth", names) == "depth");
  CHECK(nearest_name("learning-rate", names) == "learn-rate");
  CHECK(nearest_name("seed", names) == "random-seed");
  CHECK(nearest_name("warmup", names) == "lr-warmup");
  CHECK(nearest_name("batches", names) == "num-batches");
  CHECK(nearest_name("lr", names) == "learn-rate");
  CHECK(nearest_name("mup", names).empty());  // what ends a name is a whole word
  CHECK(nearest_name("frobnicate", names).empty());
  CHECK(nearest_name("", names).empty());
  CHECK(nearest_name("x", {}).empty());
  CHECK(nearest_name(std::string(100'000, 'x'), names).empty());
}
