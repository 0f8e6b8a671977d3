#pragma once
// Text on its way into an HTML page.

#include <string>
#include <string_view>

namespace reel::apps {

/// `text` as HTML that shows just that, between tags and inside a quoted attribute alike: &, <, >, " and ' escaped,
/// what is not UTF-8 as U+FFFD, and control characters, which HTML forbids, by their pictures (U+2400 and on). Tabs and
/// line breaks stay.
std::string escape_html(std::string_view text);

/// A coordinate or length of an SVG drawing: to a tenth, in as few characters as that takes.
std::string svg_number(double value);

}  // namespace reel::apps
