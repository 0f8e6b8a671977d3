#include "apps/training/crc32c.h"

#include <string>

#include "tests/catch.h"

using reel::apps::crc32c;

// RFC 3720, B.4, and the check value that every catalogue of CRCs gives for "123456789"
TEST_CASE("crc32c gives the published answers", "[crc32c]") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xE3069283);
  CHECK(crc32c("6789", crc32c("12345")) == 0xE3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AA);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43);
  std::string up, down;
  for (int i = 0; i < 32; ++i) {
    up.push_back(static_cast<char>(i));
    down.push_back(static_cast<char>(31 - i));
  }
  CHECK(crc32c(up) == 0x46DD794E);
  CHECK(crc32c(down) == 0x113FDB5C);
}
