#include "apps/report/axis.h"

#include <cmath>

#include "tests/catch.h"

using namespace reel::apps;

namespace {

std::string labels(const Axis& axis) {
  std::string out;
  for (const Tick& tick : axis.ticks()) out += (out.empty() ? "" : " ") + tick.label;
  return out;
}

}  // namespace

TEST_CASE("ticks are round numbers, written alike", "[axis]") {
  CHECK(labels({0, 1}) == "0 0.2 0.4 0.6 0.8 1.0");
  CHECK(labels({0, 10}) == "0 2 4 6 8 10");
  CHECK(labels({1.4, 4.2}) == "1.5 2.0 2.5 3.0 3.5 4.0");
  CHECK(labels({-1, 1}) == "-1.0 -0.5 0 0.5 1.0");
  CHECK(labels({0, 600}) == "0 100 200 300 400 500 600");
  CHECK(labels({0, 20000}) == "0 5k 10k 15k 20k");
  CHECK(labels({0, 1e6}) == "0 0.2M 0.4M 0.6M 0.8M 1.0M");
  CHECK(labels({0, 3e9}) == "0 0.5G 1.0G 1.5G 2.0G 2.5G 3.0G");
  CHECK(labels({0, 0.001}) == "0 0.0002 0.0004 0.0006 0.0008 0.0010");
  CHECK(labels({0, 1e-4}) == "0 0.2e-4 0.4e-4 0.6e-4 0.8e-4 1.0e-4");
  CHECK(labels({0, 5e20}) == "0 1e20 2e20 3e20 4e20 5e20");
}

TEST_CASE("ticks may be kept apart", "[axis]") {
  CHECK(Axis(1, 3).ticks(1).size() == 3);
  CHECK(Axis(7, 7).ticks(1).size() == 1);
  CHECK(Axis(7, 7).ticks(1)[0].label == "7");
  CHECK(Axis(0, 600).ticks(1).size() == 7);
}

TEST_CASE("numbers have their places", "[axis]") {
  const Axis linear(10, 30);
  CHECK(linear.place(10) == 0);
  CHECK(linear.place(15) == Approx(0.25));
  CHECK(linear.place(30) == 1);
  CHECK(linear.place(9) == 0);
  CHECK(linear.place(1e100) == 1);
}

TEST_CASE("every axis has a few ticks, in order and inside", "[axis]") {
  auto check = [](double low, double high) {
    CAPTURE(low, high);
    for (const Axis& axis : {Axis(low, high), padded_axis(low, high)}) {
      const std::vector<Tick> ticks = axis.ticks();
      CHECK(ticks.size() >= 2);
      CHECK(ticks.size() <= 12);
      double before = -1;
      for (const Tick& tick : ticks) {
        CHECK(tick.place > before);
        CHECK(tick.place <= 1);
        CHECK(tick.label.size() <= 12);
        before = tick.place;
      }
      CHECK(axis.place(low) <= axis.place(high));
    }
  };
  for (double low : {0.0, -1.0, 1.0, 0.1, 1.7e-5, 123456.0, -3e8, 1e-100, -1e100, 1e15 / 3}) {
    for (double range : {0.0, 1e-12, 1e-3, 0.7, 1.0, 99.0, 1e4, 3.3e9, 1e100}) {
      check(low, low + range);
    }
  }
}

TEST_CASE("an axis goes down to 0 where that is near", "[axis]") {
  CHECK(labels(padded_axis(0.1, 0.95)).starts_with("0 "));
  CHECK(padded_axis(0.1, 0.95).place(0) == 0);
  CHECK(padded_axis(2, 4).place(1.8) == 0);
  CHECK(padded_axis(2, 4).place(2) > 0);
  CHECK(padded_axis(-0.1, 4).place(-0.1) > 0);
}
