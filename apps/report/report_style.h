#pragma once
// How report.html looks: its style sheet.

#include <string_view>

namespace reel::apps {

extern const std::string_view report_style;

}  // namespace reel::apps
