#include "apps/report/head_maps.h"

#include "autograd/creation.h"
#include "tests/apps/html_checker.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::apps;

TEST_CASE("tokens are named one by one", "[head_maps]") {
  const auto tokenizer = data::CharTokenizer::train("ab\n");
  CHECK(token_names(tokenizer, std::vector<std::int32_t>{1, 0, 2}) == std::vector<std::string>{"a", "\n", "b"});
}

TEST_CASE("each head has its map, in its order", "[head_maps]") {
  Report report("run");
  const std::vector<std::string> rows{"das", "haus"}, columns{"the", "house", "."};
  add_head_maps(report, "Layer 3", tensor({1, 2, 2, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1}), rows, columns);
  const std::string html = report.html();
  CHECK(count_of("class='heat-map'", html) == 2);
  const std::size_t first = html.find(">Layer 3, head 1<"), second = html.find(">Layer 3, head 2<");
  REQUIRE(first < second);
  CHECK_THAT(html.substr(first, second - first), ContainsSubstring("d='M0 0h1M1 1h1'"));
  CHECK_THAT(html.substr(second), ContainsSubstring("d='M2 0h1M2 1h1'"));
  CHECK(count_of(">haus</text>", html) == 2);
  CHECK(count_of(">house</text>", html) == 2);
}
