#include "apps/report/axis.h"

#include <algorithm>
#include <cmath>

#include "apps/common/numbers.h"

namespace reel::apps {

namespace {

int exponent_of(double value) { return static_cast<int>(std::floor(std::log10(value) + 1e-9)); }

/// The step, 1, 2 or 5 times a power of ten, that cuts `range` into three to seven.
double round_step(double range) {
  const double power = std::pow(10, exponent_of(range / 5));
  for (double factor : {1, 2, 5}) {
    if (range / (factor * power) <= 7) return factor * power;
  }
  return 10 * power;
}

/// In what unit the numbers of an axis up to `largest` are written: its size, and the letters after the number.
struct Unit {
  double size;
  std::string suffix;
};
Unit unit_for(double largest) {
  if (largest >= 1e15 || largest < 1e-3) {
    const int exponent = exponent_of(largest);
    return {std::pow(10, exponent), "e" + std::to_string(exponent)};
  }
  if (largest >= 1e12) return {1e12, "T"};
  if (largest >= 1e9) return {1e9, "G"};
  if (largest >= 1e6) return {1e6, "M"};
  if (largest >= 1e4) return {1e3, "k"};
  return {1, ""};
}

}  // namespace

Axis::Axis(double low, double high) : low_(low), high_(high) {
  const double largest = std::max(std::abs(low), std::abs(high));
  if (high - low > 1e-5 * largest) return;  // of closer numbers, labels that differ are too long
  const double room = largest > 0 ? largest / 10 : 1;
  low_ -= room;
  high_ += room;
}

double Axis::place(double value) const { return std::clamp((value - low_) / (high_ - low_), 0.0, 1.0); }

std::vector<Tick> Axis::ticks(double least_step) const {
  const double step = std::max(round_step(high_ - low_), least_step);
  const auto [size, suffix] = unit_for(std::max(std::abs(low_), std::abs(high_)));
  const int decimals = std::max(0, -exponent_of(step / size));
  std::vector<Tick> ticks;
  const double slack = 1e-6;  // of a step, for a border that is itself a tick
  for (double i = std::ceil(low_ / step - slack); i <= high_ / step + slack; ++i) {
    const double value = i * step;
    ticks.push_back({place(value), i == 0 ? "0" : fixed(value / size, decimals) + suffix});
  }
  return ticks;
}

bool is_near_zero(double low, double high) { return low >= 0 && low < high / 4; }

Axis padded_axis(double low, double high) {
  const double room = (high - low) * 0.05;
  return {is_near_zero(low, high) ? 0 : low - room, high + room};
}

}  // namespace reel::apps
