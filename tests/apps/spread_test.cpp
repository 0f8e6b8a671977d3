#include "apps/report/spread.h"

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
