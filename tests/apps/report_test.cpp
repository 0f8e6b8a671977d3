#include "apps/report/report.h"

#include <cmath>
#include <regex>

#include "autograd/error.h"
#include "tests/apps/html_checker.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::apps;

namespace {

/// What a text may do to a page.
const std::string hostile =
    std::string("</pre></title><script>alert('\"1\"')</script>&lt;\x01\x1b\x7f\xFF\xC2\x85") + '\0';

std::vector<Point> line(int count) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({static_cast<double>(i), std::sin(i * 0.01)});
  return points;
}

Report report_of_everything(const std::string& text) {
  Report report(text, text);
  report.highlights({{text, text}});
  report.section(text, text);
  report.curve(text, {{text, line(1000)}, {text, line(3)}}, {.x_name = text});
  report.curve(text, {});
  report.section(text);
  report.sample(text, text);
  report.sample(text, text);
  report.table(text, {text, text}, {{text, "0.5"}, {text, "1"}});
  report.attention(text, std::vector{text, text}, std::vector{text}, std::vector{0.5, 1.0});
  report.settings({{text, text}, {text, text}});
  return report;
}

}  // namespace

TEST_CASE("a report is a well-formed page, whatever its texts are", "[report]") {
  CHECK(html_problem(Report("").html()) == "");
  CHECK(html_problem(report_of_everything("plain").html()) == "");
  CHECK(html_problem(report_of_everything("").html()) == "");
  const std::string html = report_of_everything(hostile).html();
  CHECK(html_problem(html) == "");
  CHECK(count_of("<script", html) == 0);
  CHECK(count_of("&lt;script&gt;", html) >= 20);
}

TEST_CASE("a report needs nothing beside itself", "[report]") {
  const std::string html = report_of_everything("plain").html();
  CHECK(html.starts_with("<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>"));
  for (const char* outside :
       {"http:", "https:", "//", "url(", "@import", "src=", "href=", "<link", "<img", "<script"}) {
    CAPTURE(outside);
    CHECK(count_of(outside, html) == 0);
  }
  CHECK_THAT(html, ContainsSubstring("prefers-color-scheme: dark"));
  CHECK_THAT(html, ContainsSubstring("default-src 'none'"));
}

TEST_CASE("the style sheet knows every class of the page", "[report]") {
  const std::string html = report_of_everything("plain").html();
  const std::string style = html.substr(0, html.find("</style>"));
  static const std::regex classes("class='([^']*)'");
  for (std::sregex_iterator it(html.begin(), html.end(), classes), end; it != end; ++it) {
    CAPTURE(it->str());
    CHECK(style.find("." + (*it)[1].str()) != std::string::npos);
  }
}

TEST_CASE("what is added comes in its order, kinds in groups", "[report]") {
  Report report("run");
  report.section("one");
  report.curve("first curve", {});
  report.curve("second curve", {});
  report.sample("first sample", "x");
  report.section("two");
  report.sample("second sample", "y");
  const std::string html = report.html();
  std::size_t before = 0;
  for (const char* title : {">one<", ">first curve<", ">second curve<", ">first sample<", ">two<", ">second sample<"}) {
    CAPTURE(title);
    const std::size_t at = html.find(title);
    REQUIRE(at != std::string::npos);
    CHECK(at > before);
    before = at;
  }
  CHECK(count_of("<div class='charts'>", html) == 1);
  CHECK(count_of("<div class='samples'>", html) == 2);
}

TEST_CASE("a sample keeps its spaces and line breaks", "[report]") {
  Report report("run");
  report.sample("after training", "\n\tif (a < b)\n\n  return;\n");
  CHECK_THAT(report.html(), ContainsSubstring("<pre dir='auto'>\n\n\tif (a &lt; b)\n\n  return;\n</pre>"));
}

TEST_CASE("columns of numbers stand to the right", "[report]") {
  Report report("run");
  report.table("predictions", {"text", "probability"}, {{"good", "0.75"}, {"1", "-1e-3"}});
  CHECK_THAT(report.html(), ContainsSubstring("<th dir='auto'>text</th><th class='number'>probability</th>"));
  CHECK_THAT(report.html(), ContainsSubstring("<td dir='auto'>1</td><td class='number'>-1e-3</td>"));
  CHECK_THROWS_WITH(report.table("t", {"a", "b"}, {{"1", "2"}, {"1"}}), ContainsSubstring("1 cells; its header has 2"));
}

TEST_CASE("a report of a long run is a small file", "[report]") {
  Report report("run");
  const std::vector<Point> points = line(1'000'000);
  for (int i = 0; i < 3; ++i) report.curve("loss", {{"train", points}, {"validation", line(600)}});
  CHECK(report.html().size() < 200'000);
}

TEST_CASE("a report is written in one go", "[report]") {
  TemporaryFolder folder;
  Report report("run");
  report.sample("before training", "x");
  report.write(folder / "report.html");
  CHECK(read_file(folder / "report.html") == report.html());
  report.sample("after training", "y");
  report.write(folder / "report.html");
  CHECK(read_file(folder / "report.html") == report.html());
  CHECK_THROWS_WITH(report.write(folder / "none/report.html"), ContainsSubstring("No such file"));
}
