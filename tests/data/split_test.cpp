#include "data/split.h"

#include <limits>
#include <numeric>
#include <string>

#include "autograd/error.h"
#include "autograd/utf8.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::data;
using Tokens = std::vector<std::int32_t>;

namespace {

Tokens counting(std::size_t count) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

}  // namespace

TEST_CASE("split cuts once, the first part rounded down") {
  for (std::size_t count : {0u, 1u, 9u, 10u, 11u, 101u}) {
    Tokens tokens = counting(count);
    auto [training, validation] = split(tokens, 0.9);
    CHECK(training.size() == count * 9 / 10);
    Tokens joined = training;
    joined.insert(joined.end(), validation.begin(), validation.end());
    CHECK(joined == tokens);
  }
}

TEST_CASE("split parts tiny shakespeare's 1,115,394 characters as published, and once more for a final test") {
  auto [training, rest] = split(Tokens(1115394), 0.9);
  CHECK(training.size() == 1003854);
  CHECK(rest.size() == 111540);
  auto [validation, test] = split(rest, 0.5);
  CHECK(validation.size() == 55770);
  CHECK(test.size() == 55770);
}

TEST_CASE("a share that leaves one part nothing is refused") {
  for (double share : {0.0, 1.0, -0.1, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_WITH(split(counting(10), share), ContainsSubstring("need 0 < share < 1"));
    CHECK_THROWS_AS(split_text("0123456789", share), Error);
    CHECK_THROWS_AS(split_bytes("0123456789", share), Error);
  }
}

TEST_CASE("split_text cuts between characters, where split cuts their ids") {
  std::string text = "aé→🎬b🎞c";  // seven characters of one to four bytes
  std::u32string characters = decode_utf8(text);
  for (std::size_t first = 0; first < 7; ++first) {
    auto [training, validation] = split_text(text, (static_cast<double>(first) + 0.5) / 7);
    CHECK(decode_utf8(training) == characters.substr(0, first));
    CHECK(decode_utf8(validation) == characters.substr(first));
  }
  auto [none, nothing] = split_text("", 0.5);
  CHECK((none.empty() && nothing.empty()));
}

TEST_CASE("split_bytes cuts anywhere") {
  const std::string bytes = "\xC3\xA9\xFF";  // é, and what is no UTF-8
  for (std::size_t first = 0; first < 3; ++first) {
    auto [training, validation] = split_bytes(bytes, (static_cast<double>(first) + 0.5) / 3);
    CHECK(training == bytes.substr(0, first));
    CHECK(validation == bytes.substr(first));
  }
}
