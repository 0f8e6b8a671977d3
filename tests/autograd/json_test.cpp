#include "autograd/json.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "autograd/error.h"
#include "tests/catch.h"

using reel::Json;

namespace {

std::string error_of(std::string_view text) {
  try {
    Json::parse(text);
  } catch (const reel::Error& error) {
    return error.what();
  }
  return "no error";
}

std::string nested(int depth) {
  auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

}  // namespace

TEST_CASE("json reads each kind of value", "[json]") {
  CHECK(Json::parse("null") == Json());
  CHECK(Json::parse(" true\n").get<bool>());
  CHECK_FALSE(Json::parse("false").get<bool>());
  CHECK(Json::parse("\t-12 ").get<std::int64_t>() == -12);
  CHECK(Json::parse("0").get<std::int64_t>() == 0);
  CHECK(Json::parse("2.5e-3").get<double>() == 2.5e-3);
  CHECK(Json::parse("1E2").get<double>() == 100);
  CHECK(Json::parse("\"\"").get<std::string>().empty());
  CHECK(Json::parse("[]").get<Json::Array>().empty());
  CHECK(Json::parse("{ }").get<Json::Object>().empty());

  Json json = Json::parse(R"( {"b": [1, [2.5, null]], "a": {"c": "d"}} )");
  CHECK(json.at("b").get<Json::Array>().size() == 2);
  CHECK(json.at("a").at("c").get<std::string>() == "d");
  CHECK(json.get<Json::Object>()[0].first == "b");  // in the order of the text
  CHECK(json.find("c") == nullptr);
  CHECK(json.at("b").get<Json::Array>()[0].number() == 1);
}

TEST_CASE("json integers that do not fit become doubles", "[json]") {
  CHECK(Json::parse("9223372036854775807").get<std::int64_t>() == std::numeric_limits<std::int64_t>::max());
  CHECK(Json::parse("-9223372036854775808").get<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK(Json::parse("9223372036854775808").get<double>() == 9223372036854775808.0);
}

TEST_CASE("json strings", "[json]") {
  CHECK(Json::parse(R"("\"\\\/\b\f\n\r\t")").get<std::string>() == "\"\\/\b\f\n\r\t");
  CHECK(Json::parse(R"("\u0041\u00e9\u20AC\ud83d\ude00")").get<std::string>() == "Aé€😀");
  CHECK(Json::parse(R"("a\u0000b")").get<std::string>() == std::string("a\0b", 3));
  CHECK(Json::parse("\"é€😀\x7f\"").get<std::string>() == "é€😀\x7f");
}

TEST_CASE("json refuses what is not JSON, and says where", "[json]") {
  CHECK(error_of("") == "json: the text ends where a value should be (at byte 0)");
  CHECK(error_of("[1,]") == "json: this is no value (at byte 3)");
  CHECK(error_of("[1 2]") == "json: a list needs , or ] here (at byte 3)");
  CHECK(error_of("{\"a\":1,}") == "json: an object's entry needs a name in double quotes here (at byte 7)");
  CHECK(error_of("1 1") == "json: nothing more may follow the value (at byte 2)");
  CHECK(error_of("\"abc") == "json: the text ends inside a string (at byte 4)");

  for (std::string_view text : {"nul",
                                "tru",
                                "True",
                                "[",
                                "[1",
                                "[1,",
                                "{",
                                "{\"a\"",
                                "{\"a\":",
                                "{\"a\":1",
                                "{a:1}",
                                "{\"a\" 1}",
                                "{1:1}",
                                "]",
                                "}",
                                ",",
                                "-",
                                "+1",
                                "01",
                                "-01",
                                "1.",
                                ".5",
                                "1.e3",
                                "1e",
                                "1e+",
                                "0x10",
                                "nan",
                                "NaN",
                                "Infinity",
                                "-inf",
                                "1e999",
                                "\"",
                                "\"\\\"",
                                "\"\\x\"",
                                "\"\\u12\"",
                                "\"\\u12g4\"",
                                "\"\\u+123\"",
                                "\"\\ud800\"",
                                "\"\\ud800\\n\"",
                                "\"\\ud800\\ud800\"",
                                "\"\\udc00\"",
                                "\"\n\"",
                                "'a'",
                                "\xEF\xBB\xBF{}",
                                "[1]//",
                                "{\"a\":1,\"a\":2}",
                                "\v1"}) {
    INFO(text);
    CHECK_THROWS_AS(Json::parse(text), reel::Error);
  }
  CHECK_THROWS_AS(Json::parse(std::string_view("1\0", 2)), reel::Error);
  CHECK_THROWS_AS(Json::parse(std::string_view("[\0]", 3)), reel::Error);
}

TEST_CASE("json refuses two entries of one name", "[json]") {
  CHECK_THROWS_WITH(Json::parse(R"({"a": {"b": 1, "c": 2, "b": 3}})"), ContainsSubstring("two entries \"b\""));
  CHECK_THROWS_AS(Json::parse(R"({"a": 1, "\u0061": 2})"), reel::Error);
  CHECK_NOTHROW(Json::parse(R"({"a": 1, "b": {"a": 1}})"));
  CHECK_THROWS_WITH(Json(Json::Object{{"a", 1}, {"b", 2}, {"a", 3}}).write(),
                    "json: an object with two entries \"a\" cannot be written");
}

TEST_CASE("json refuses malformed UTF-8", "[json]") {
  for (std::string_view bytes : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xC3", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80",
                                 "\xE2\x82", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    std::string text = reel::text("\"", bytes, "\"");
    CHECK_THROWS_WITH(Json::parse(text), ContainsSubstring("json: not UTF-8 at byte 1, line 1: "));
    CHECK_THROWS_WITH(Json(std::string(bytes)).write(),
                      ContainsSubstring("json: a string that is to be written: not UTF-8 at byte 0"));
  }
  for (std::string_view bytes : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                                 "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    CHECK(Json::parse(Json(std::string(bytes)).write()).get<std::string>() == bytes);
  }
}

TEST_CASE("json nests up to its limit and no deeper", "[json]") {
  CHECK_NOTHROW(Json::parse(nested(Json::max_depth)));
  CHECK_THROWS_WITH(Json::parse(nested(Json::max_depth + 1)), ContainsSubstring("nest deeper than 64"));
  CHECK_THROWS_AS(Json::parse(std::string(10'000'000, '[')), reel::Error);
  CHECK_NOTHROW(
      Json::parse(reel::text("[", nested(3), ",", nested(Json::max_depth - 1), "]")));  // side by side is not deep
}

TEST_CASE("json writes what it reads", "[json]") {
  for (std::string_view text : {"null", "true", "-3", "0.5", "1e+300", "1e-300", "-0.0", "[]", "{}", "[1,2.0,\"x\"]",
                                R"({"b":1,"a":{"c":[null]}})", R"("\"\\\n\u0000\u001f/é")", "9223372036854775807"}) {
    CHECK(Json::parse(text).write() == text);
  }
  CHECK(Json(Json::Object{{"name", "reel"}, {"sizes", Json::Array{1, 2}}, {"rate", 1e-3}, {"final", true}}).write() ==
        R"({"name":"reel","sizes":[1,2],"rate":0.001,"final":true})");
  CHECK_THROWS_AS(Json(std::nan("")).write(), reel::Error);
  CHECK_THROWS_AS(Json(-std::numeric_limits<double>::infinity()).write(), reel::Error);
}

TEST_CASE("json doubles survive bit for bit", "[json]") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    std::uint64_t bits = random();
    double value;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isnormal(value)) continue;
    const double read = Json::parse(Json(value).write()).get<double>();
    REQUIRE(std::memcmp(&read, &value, sizeof value) == 0);
  }
}

TEST_CASE("json accessors name both kinds", "[json]") {
  CHECK_THROWS_WITH(Json("x").get<std::int64_t>(), "json: need an integer, found a string");
  CHECK_THROWS_WITH(Json(1).get<std::string>(), "json: need a string, found an integer");
  CHECK_THROWS_WITH(Json().number(), "json: need a number, found null");
  CHECK_THROWS_WITH(Json(Json::Array{}).find("a"), "json: need an object, found a list");
  CHECK_THROWS_WITH(Json(Json::Object{}).at("a"), ContainsSubstring("no entry \"a\""));
}

TEST_CASE("json reads or refuses damaged text, and never falls over", "[json]") {
  std::string good =
      R"({"a": [1, -2.5e3, true, null], "bé": {"c\u00e9\ud83d\ude00": "d\n", "e": [[], {}]}, "f": false})";
  REQUIRE_NOTHROW(Json::parse(good));
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_THROWS_AS(Json::parse(std::string_view(good).substr(0, size)), reel::Error);
  }
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = good;
    for (int flips = 0; flips <= i % 3; ++flips) bad[random() % bad.size()] = static_cast<char>(random());
    try {
      Json json = Json::parse(bad);
      CHECK(Json::parse(json.write()) == json);
    } catch (const reel::Error&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}
