#include "data/pieces.h"

#include "tests/catch.h"

using namespace reel::data;
using Pieces = std::vector<std::string_view>;

TEST_CASE("a text is cut at separators, one piece more than there are", "[pieces]") {
  CHECK(split_at("", ",") == Pieces{""});
  CHECK(split_at("a", ",") == Pieces{"a"});
  CHECK(split_at("a,bc", ",") == Pieces{"a", "bc"});
  CHECK(split_at(",a,", ",") == Pieces{"", "a", ""});
  CHECK(split_at("a,,b", ",") == Pieces{"a", "", "b"});
  CHECK(split_at("a, b,c", ", ") == Pieces{"a", "b,c"});
  CHECK(split_at("aaa", "aa") == Pieces{"", "a"});
}
