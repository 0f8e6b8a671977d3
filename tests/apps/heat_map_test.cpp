#include "apps/report/heat_map.h"

#include <cmath>
#include <limits>
#include <vector>

#include "autograd/error.h"
#include "autograd/random.h"
#include "tests/apps/html_checker.h"
#include "tests/catch.h"

using namespace reel::apps;

namespace {

using Tokens = std::vector<std::string>;

std::string heat_map(const Tokens& rows, const Tokens& columns, const std::vector<double>& weights) {
  const std::string html = heat_map_html("head 1", rows, columns, weights);
  CHECK(html_problem(html) == "");
  CHECK(count_of("nan", html) == 0);
  CHECK(count_of("inf", html) == 0);
  return html;
}

}  // namespace

TEST_CASE("a heat map has its tokens at both axes and a stroke for equal cells", "[heat_map]") {
  const std::string html = heat_map({"a", "man"}, {"<start>", "ein", "&"}, {1, 1, 0, 0.25, 0, 1});
  CHECK(count_of(">man</text>", html) == 1);
  CHECK(count_of(">&lt;start&gt;</text>", html) == 1);
  CHECK(count_of(">&amp;</text>", html) == 1);
  CHECK(count_of("<path", html) == 2);
  CHECK_THAT(html, ContainsSubstring("<path stroke-opacity='1' d='M0 0h2M2 1h1'/>"));
  CHECK_THAT(html, ContainsSubstring("<path stroke-opacity='0.5' d='M0 1h1'/>"));  // the root of 0.25
  CHECK_THAT(html, ContainsSubstring("0 <i></i> 0.25 <i></i> 1<"));
}

TEST_CASE("cells do not run from one row into the next", "[heat_map]") {
  CHECK_THAT(heat_map({"a", "b"}, {"c", "d"}, {1, 1, 1, 1}), ContainsSubstring("d='M0 0h2M0 1h2'"));
}

TEST_CASE("weights that are no weights are left blank", "[heat_map]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::string html = heat_map({"a"}, {"b", "c", "d", "e", "f"}, {NAN, 0.5, infinity, -1, -infinity});
  CHECK(count_of("<path", html) == 1);
  CHECK_THAT(html, ContainsSubstring("<path stroke-opacity='1' d='M1 0h1'/>"));
}

TEST_CASE("a heat map of zeros, and of nothing", "[heat_map]") {
  CHECK(count_of("<path", heat_map({"a"}, {"b"}, {0})) == 0);
  CHECK(count_of("<path", heat_map({}, {}, {})) == 0);
  CHECK(count_of("<path", heat_map({"a"}, {}, {})) == 0);
}

TEST_CASE("a heat map says when its sizes do not agree", "[heat_map]") {
  CHECK_THROWS_WITH(heat_map_html("", Tokens{"a"}, Tokens{"b", "c"}, std::vector<double>{1}),
                    ContainsSubstring("1 rows and 2 columns need 2 weights; there are 1"));
}

TEST_CASE("labels show white space and cut long tokens", "[heat_map]") {
  CHECK(token_label("word", 12) == "word");
  CHECK(token_label(" a\nb\tc\r", 12) == "␣a↵b⇥c␍");
  CHECK(token_label("exactly12345", 12) == "exactly12345");
  CHECK(token_label("Donaudampfschifffahrt", 12) == "Donaudampfs…");
  CHECK(token_label("ßßßßß", 4) == "ßßß…");
  CHECK(token_label("a\xFF", 4) == "a\uFFFD");
  CHECK(token_label("", 4) == "");
  CHECK(token_label("word", 0) == "");
  const std::string html = heat_map({"Donaudampfschifffahrt"}, {"<"}, {1});
  CHECK_THAT(html, ContainsSubstring("<title>Donaudampfschifffahrt</title>Donaudampfs…</text>"));
}

TEST_CASE("cells are large where there are few, and never lower than the labels of all tokens", "[heat_map]") {
  auto cell = [](std::size_t count) {
    const std::string html = heat_map(Tokens(count, "word"), Tokens(count, "word"), std::vector<double>(count * count));
    CHECK(count_of(">word</text>", html) == (count <= 64 ? 2 * static_cast<int>(count) : 2 * 50));
    return std::stod(html.substr(html.find(")scale(") + 7));
  };
  CHECK(cell(5) == 16);
  CHECK(cell(25) == 16);
  CHECK(cell(36) == Approx(400.0 / 36).margin(1e-3));
  CHECK(cell(40) == 11);
  CHECK(cell(64) == 11);
  CHECK(cell(100) == Approx(7.04));
}

TEST_CASE("among many tokens, some are written", "[heat_map]") {
  for (const std::size_t count : {64U, 65U, 256U, 700U}) {
    const Tokens tokens(count, "t");
    reel::Generator generator(1);
    std::vector<double> weights(count * count);
    for (double& weight : weights) weight = generator.uniform();
    const std::string html = heat_map(tokens, tokens, weights);
    const int labels = count_of(">t</text>", html);
    CHECK(labels <= 2 * 70);
    CHECK(labels >= 2 * 32);
    CHECK(html.size() < 10 * weights.size() + 20'000);
  }
}
