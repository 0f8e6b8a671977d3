#include "data/joined.h"

#include "tests/catch.h"

using namespace reel::data;

TEST_CASE("words are joined", "[joined]") {
  CHECK(joined({}, ", ").empty());
  CHECK(joined({"a"}, ", ") == "a");
  CHECK(joined({"a", "", "b"}, ", ") == "a, , b");
}
