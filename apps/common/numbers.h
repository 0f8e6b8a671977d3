#pragma once
// Numbers as a person writes them.

#include <string>

namespace reel::apps {

/// Exact when read again: "0.001", "1e-5", "1e+30".
std::string number_text(double value);

/// With so many significant digits at most: "0.25", "12", "1.5e-5", "2e7".
std::string short_number(double value, int digits);

/// With so many digits after the point: "0.8415"; never "-0.0000", and an infinity is "-∞" or "∞".
std::string fixed(double value, int decimals);

/// Three digits: "950", "10.2k", "1.25M"
std::string count_text(double count);

/// "0:42", "1:05", "2:03:04"
std::string duration_text(double seconds);

}  // namespace reel::apps
