// Some hundred inputs for each target: its seeds, and what becomes of them when they are cut, mixed and damaged.

#include <algorithm>
#include <cstdlib>

#include "autograd/random.h"
#include "tests/catch.h"
#include "tests/fuzz/target.h"

using namespace reel;
using fuzz::Target;

namespace {

/// Where in `bytes`, or at their end.
std::size_t any_place(const std::string& bytes, Generator& generator) {
  return static_cast<std::size_t>(generator.below(std::ssize(bytes) + 1));
}

/// A piece of it, most often a short one.
std::string any_piece(const std::string& bytes, Generator& generator) {
  const std::size_t start = any_place(bytes, generator);
  return bytes.substr(start, static_cast<std::size_t>(generator.below(generator.below(4) == 0 ? 256 : 8)));
}

/// Bytes that mean something to one format or another.
std::string telling_bytes(Generator& generator) {
  static const std::vector<std::string> telling{std::string(1, '\0'),
                                                "\xFF",
                                                "\"",
                                                "\n",
                                                "\r\n",
                                                "\t",
                                                ",",
                                                "{",
                                                "}",
                                                "[",
                                                "]",
                                                ":",
                                                "-",
                                                "0",
                                                "9",
                                                "1e999",
                                                "-0.0",
                                                "nan",
                                                "9223372036854775808",
                                                "\\u0000",
                                                "\\ud800",
                                                "\xEF\xBB\xBF",
                                                "\xC2\x85",
                                                "\xE2\x80\xA8",
                                                "\xF4\x90\x80\x80",
                                                "\xED\xA0\x80",
                                                "--",
                                                "=",
                                                "<br />",
                                                "'"};
  return telling[static_cast<std::size_t>(generator.below(std::ssize(telling)))];
}

std::string damaged(std::string bytes, const std::string& other, Generator& generator) {
  for (std::int64_t changes = 1 + generator.below(4); changes > 0; --changes) {
    const std::size_t place = any_place(bytes, generator);
    switch (generator.below(7)) {
      case 0:  // a flipped bit
        if (place < bytes.size()) bytes[place] = static_cast<char>(bytes[place] ^ (1 << generator.below(8)));
        break;
      case 1:
        if (place < bytes.size()) bytes[place] = static_cast<char>(generator.below(256));
        break;
      case 2:
        bytes.insert(place, telling_bytes(generator));
        break;
      case 3:
        bytes.erase(place, static_cast<std::size_t>(generator.below(8)));
        break;
      case 4:
        bytes.insert(place, any_piece(bytes, generator));
        break;
      case 5:
        bytes.insert(place, any_piece(other, generator));
        break;
      default:
        bytes.resize(place);
        break;
    }
  }
  return bytes;
}

/// Printable, to be pasted into a test: "\x00a"
std::string literal(const std::string& bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    const auto c = static_cast<unsigned char>(byte);
    if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\') {
      out += static_cast<char>(c);
    } else {
      out += {'\\', 'x', digits[c / 16], digits[c % 16]};
    }
  }
  return "\"" + out + "\"";
}

/// Whether the target takes the input, or refuses it as it should; the input that does not do is reported.
void check(const Target& target, const std::string& input) {
  try {
    fuzz::try_input(target, input);
  } catch (const std::exception& error) {
    FAIL(target.name << " with " << literal(input) << ": " << error.what());
  }
}

}  // namespace

TEST_CASE("whatever the input, it is taken or refused", "[fuzz]") {
  const char* wanted = std::getenv("REEL_FUZZ_INPUTS");
  const std::int64_t inputs = wanted ? std::atoll(wanted) : 300;
  for (const Target& target : fuzz::all_targets()) {
    DYNAMIC_SECTION(target.name) {
      REQUIRE(!target.seeds.empty());
      for (const std::string& seed : target.seeds) {
        INFO(literal(seed));
        REQUIRE_NOTHROW(target.run(seed));  // not even refused
      }
      check(target, "");
      Generator generator(1);
      auto any_seed = [&] { return target.seeds[static_cast<std::size_t>(generator.below(std::ssize(target.seeds)))]; };
      for (std::int64_t i = 0; i < inputs; ++i) check(target, damaged(any_seed(), any_seed(), generator));
    }
  }
}

TEST_CASE("a target that breaks its promise is seen", "[fuzz]") {
  const Target broken{"broken", [](std::string_view input) { fuzz::require(input.size() < 3, "is short"); }, {"ab"}};
  const Target refusing{"refusing", [](std::string_view) { fail("refused"); }, {"ab"}};
  CHECK_NOTHROW(fuzz::try_input(broken, "ab"));
  CHECK_THROWS_AS(fuzz::try_input(broken, "abc"), std::logic_error);
  CHECK_NOTHROW(fuzz::try_input(refusing, "abc"));
}
