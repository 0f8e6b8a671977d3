#include "apps/report/html.h"

#include <limits>

#include "tests/apps/html_checker.h"
#include "tests/catch.h"

using namespace reel::apps;

TEST_CASE("text becomes HTML that shows just that", "[html]") {
  CHECK(escape_html("") == "");
  CHECK(escape_html("a b\tc\nd\re") == "a b\tc\nd\re");
  CHECK(escape_html("<b a=\"1\" c='2'>&amp;</b>") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;&lt;/b&gt;");
  CHECK(escape_html("Straße 东京 🙂") == "Straße 东京 🙂");
}

TEST_CASE("control characters show as their pictures, and what is no UTF-8 as U+FFFD", "[html]") {
  CHECK(escape_html(std::string("\0\x01\x1b\x7f", 4)) == "␀␁␛␡");
  CHECK(escape_html("\xC2\x80 \xC2\x9F \xC2\xA0") == "\uFFFD \uFFFD \u00A0");
  CHECK(escape_html("a\xFFz") == "a\uFFFDz");
  CHECK(escape_html("\xC2") == "\uFFFD");
  CHECK(escape_html("\xE4\xBA<") == "\uFFFD&lt;");
}

TEST_CASE("every byte, and every pair of bytes, becomes a well-formed page", "[html]") {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes{static_cast<char>(first), static_cast<char>(second)};
      const std::string shown = escape_html(bytes);
      if (!html_problem("<p title='" + shown + "'>" + shown + "</p>").empty()) FAIL(first << " " << second);
    }
  }
}

TEST_CASE("the checker of pages finds what is wrong", "[html]") {
  CHECK(html_problem("<!DOCTYPE html>\n<p class='a'>x &amp; <b>y</b><path d=\"M0 0\"/><meta charset='u'></p>") == "");
  for (const char* wrong : {"<p>", "</p>", "<p><b></p></b>", "a < b", "a > b", "a & b", "&nbsp;", "<p a=1></p>", "<p a",
                            "<p a='1></p>", "<p a='1' a='2'></p>", "<p a></p>", "\x01", "<p a='<'></p>"}) {
    CAPTURE(wrong);
    CHECK(html_problem(wrong) != "");
  }
}

TEST_CASE("coordinates are as short as a tenth allows", "[html]") {
  CHECK(svg_number(0) == "0");
  CHECK(svg_number(-0.01) == "0");
  CHECK(svg_number(12) == "12");
  CHECK(svg_number(12.04) == "12");
  CHECK(svg_number(12.06) == "12.1");
  CHECK(svg_number(-3.25) == "-3.3");
  CHECK(svg_number(0.1 + 0.2) == "0.3");
  CHECK(svg_number(1e6) == "1000000");
}
