#include "apps/common/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string_view>
#include <utility>

namespace reel::apps {
namespace {

/// As std::to_chars writes it, but 1e-5 instead of 1e-05, and nan without its sign.
template <class... Format>
std::string written(double value, Format... format) {
  if (std::isnan(value)) return "nan";
  std::array<char, 400> buffer;
  std::string out(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format...).ptr);
  const std::size_t e = out.find('e');
  if (e != std::string::npos && out[e + 2] == '0') out.erase(e + 2, 1);
  return out;
}

}  // namespace

std::string number_text(double value) { return written(value); }

std::string short_number(double value, int digits) {
  std::string out = written(value, std::chars_format::general, digits);
  std::erase(out, '+');  // 2e+7 as 2e7
  return out;
}

std::string fixed(double value, int decimals) {
  if (std::isinf(value)) return value < 0 ? "-∞" : "∞";
  std::string out = written(value, std::chars_format::fixed, decimals);
  if (out.starts_with("-0") && out.find_first_of("123456789") == std::string::npos) out.erase(0, 1);
  return out;
}

std::string count_text(double count) {
  std::size_t unit = 0;
  static constexpr std::string_view units[] = {"", "k", "M", "G", "T"};
  for (; count >= 999.5 && unit + 1 < std::size(units); ++unit) count /= 1000;
  int decimals = unit == 0 || count >= 99.95 ? 0 : count >= 9.995 ? 1 : 2;
  return fixed(count, decimals).append(units[unit]);
}

std::string duration_text(double seconds) {
  if (!(seconds < 1e9)) return "ages";
  auto whole = static_cast<int64_t>(std::max(seconds, 0.0) + 0.5);
  std::ostringstream out;
  out << std::setfill('0');
  if (whole >= 3600) {
    out << whole / 3600 << ':' << std::setw(2) << whole / 60 % 60;
  } else {
    out << whole / 60;
  }
  out << ':' << std::setw(2) << whole % 60;
  return std::move(out).str();
}

}  // namespace reel::apps
