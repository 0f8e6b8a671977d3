#include "apps/common/numbers.h"

#include <cmath>

#include "tests/catch.h"

using namespace reel::apps;

TEST_CASE("numbers are written as people write them", "[numbers]") {
  CHECK(number_text(0.001) == "0.001");
  CHECK(number_text(1e-5) == "1e-5");
  CHECK(number_text(-1e-12) == "-1e-12");
  CHECK(number_text(12) == "12");
  CHECK(number_text(1e30) == "1e+30");
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(-std::nan("")) == "nan");
}

TEST_CASE("short numbers", "[numbers]") {
  CHECK(short_number(0, 4) == "0");
  CHECK(short_number(1.47689, 4) == "1.477");
  CHECK(short_number(0.5, 4) == "0.5");
  CHECK(short_number(1e-4, 4) == "0.0001");
  CHECK(short_number(1.5e-5, 4) == "1.5e-5");
  CHECK(short_number(2e7, 4) == "2e7");
  CHECK(short_number(-1e-100, 4) == "-1e-100");
  CHECK(short_number(1e100, 4) == "1e100");
  CHECK(short_number(20000, 7) == "20000");
}

TEST_CASE("numbers with a fixed count of decimals", "[numbers]") {
  CHECK(fixed(0.84147, 4) == "0.8415");
  CHECK(fixed(-1.2, 2) == "-1.20");
  CHECK(fixed(2.5, 0) == "2");
  CHECK(fixed(-0.00004, 4) == "0.0000");
  CHECK(fixed(-0.00006, 4) == "-0.0001");
  CHECK(fixed(-0.5, 0) == "0");
  CHECK(fixed(1e20, 1) == "100000000000000000000.0");
  CHECK(fixed(HUGE_VAL, 4) == "∞");
  CHECK(fixed(-HUGE_VAL, 4) == "-∞");
  CHECK(fixed(std::nan(""), 4) == "nan");
  CHECK(fixed(-std::nan(""), 4) == "nan");
}

TEST_CASE("durations and counts", "[numbers]") {
  CHECK(duration_text(0) == "0:00");
  CHECK(duration_text(42.4) == "0:42");
  CHECK(duration_text(59.6) == "1:00");
  CHECK(duration_text(3599) == "59:59");
  CHECK(duration_text(7384) == "2:03:04");
  CHECK(duration_text(360000) == "100:00:00");
  CHECK(duration_text(-1) == "0:00");
  CHECK(duration_text(HUGE_VAL) == "ages");
  CHECK(duration_text(std::nan("")) == "ages");
  CHECK(count_text(0) == "0");
  CHECK(count_text(950.4) == "950");
  CHECK(count_text(999.4) == "999");
  CHECK(count_text(999.6) == "1.00k");
  CHECK(count_text(9994) == "9.99k");
  CHECK(count_text(9996) == "10.0k");
  CHECK(count_text(99960) == "100k");
  CHECK(count_text(1'250'000) == "1.25M");
  CHECK(count_text(1e18) == "1000000T");
}
