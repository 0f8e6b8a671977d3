#include "apps/common/examples.h"

#include "tests/catch.h"

using namespace reel::apps;

using Places = std::vector<std::size_t>;

TEST_CASE("examples are spread over all that there are", "[examples]") {
  CHECK(spread(25'000, 2) == Places{0, 12'500});
  CHECK(spread(10, 4) == Places{0, 2, 5, 7});
  CHECK(spread(3, 8) == Places{0, 1, 2});
  CHECK(spread(8, 8) == Places{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(spread(0, 8).empty());
}

TEST_CASE("an excerpt is the beginning, on one line", "[examples]") {
  CHECK(excerpt("warm\n\ttea\x1b", 20) == "warm  tea ");
  CHECK(excerpt("a\x7f \xc2\x9b"
                "31m\xc2\xa0",
                20) == "a   31m\xc2\xa0");  // CSI is U+009B
  CHECK(excerpt("warm tea", 8) == "warm tea");
  CHECK(excerpt("warm tea.", 8) == "warm te…");
  CHECK(excerpt("äöüß", 3) == "äö…");
  CHECK(excerpt("", 3).empty());
  CHECK(excerpt("warm", 0).empty());
}
