#include "autograd/safetensors.h"

#include <cmath>
#include <cstring>
#include <random>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel;

namespace {

std::string braced(const std::string& entries) { return text("{", entries, "}"); }

/// A file of this header and this much data, all zero.
std::string file_of(const std::string& header, std::size_t data_size) {
  std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_size, '\0');
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

std::string error_of(const std::string& bytes) {
  try {
    read_safetensors(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of(const std::string& header, std::size_t data_size) { return error_of(file_of(header, data_size)); }

Safetensors small_example() {
  return {{{"b.weight", tensor({2, 3}, {1, 2, 3, 4, 5, 6.5})}, {"a", tensor({1}, {-0.1}, DType::f64)}},
          {{"step", "12"}, {"vocabulary", "aé\n\"😀"}}};
}

}  // namespace

TEST_CASE("safetensors come back as they were", "[safetensors]") {
  Safetensors saved{{{"matrix", tensor({2, 3}, {1, 2, 3, 4, 5, 6.5})},
                     {"zero-d", scalar(0.1, DType::f64)},
                     {"empty", zeros({0, 5})},
                     {"ünï.\"code\"\\", ones({1, 1, 1, 1, 1, 1, 1, 2})},
                     {"", full({3}, -7, DType::f64)},
                     {"special", tensor({4}, {HUGE_VAL, -HUGE_VAL, -0.0, 1e-45})}},
                    {{"step", "12"}, {"", ""}, {"text", std::string("a\0b\x1f\"\\é", 8)}}};
  Safetensors loaded = read_safetensors(write_safetensors(saved));
  CHECK(loaded.metadata == saved.metadata);
  REQUIRE(loaded.tensors.size() == saved.tensors.size());
  for (std::size_t i = 0; i < saved.tensors.size(); ++i) {
    const auto& [name, before] = saved.tensors[i];
    const auto& [loaded_name, after] = loaded.tensors[i];
    CHECK(loaded_name == name);
    CHECK(after.dtype() == before.dtype());
    CHECK(after.shape() == before.shape());
    CHECK(after.to_vector() == before.to_vector());
  }
  CHECK(std::signbit(loaded.tensors[5].second.to_vector()[2]));
}

TEST_CASE("safetensors of nothing", "[safetensors]") {
  std::string bytes = write_safetensors({});
  CHECK(bytes == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  CHECK(read_safetensors(bytes).tensors.empty());
  CHECK(read_safetensors(file_of("{}", 0)).tensors.empty());
  CHECK(read_safetensors(file_of(R"({"__metadata__":null})", 0)).metadata.empty());
}

TEST_CASE("safetensors are laid out as the format says", "[safetensors]") {
  std::string bytes =
      write_safetensors({{{"x", tensor({2}, {1, -2})}, {"y", tensor({1}, {1}, DType::f64)}}, {{"k", "v"}}});
  std::string header = R"({"__metadata__":{"k":"v"},"x":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                       R"("y":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string expected = file_of(header, 0) +
                         std::string("\0\0\0\0\0\0\xf0\x3f", 8) +  // f64 first, so that it is aligned
                         std::string("\0\0\x80\x3f\0\0\0\xc0", 8);
  CHECK(bytes == expected);
}

TEST_CASE("safetensors write a view in row-major order", "[safetensors]") {
  Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor turned(x, {3, 2}, {1, 3});
  Safetensors loaded = read_safetensors(write_safetensors({{{"x", turned}}, {}}));
  CHECK(loaded.tensors[0].second.shape() == Shape{3, 2});
  CHECK(loaded.tensors[0].second.to_vector() == std::vector<double>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("safetensors are read at any alignment and in any order", "[safetensors]") {
  std::string bytes =
      text("x", file_of(braced(entry("b", "F64", "[1]", "[4,12]") + "," + entry("a", "F32", "[1]", "[0,4]")), 12));
  Safetensors loaded = read_safetensors(std::string_view(bytes).substr(1));
  CHECK(loaded.tensors[0].first == "b");
  CHECK(loaded.tensors[1].first == "a");
}

TEST_CASE("safetensors refuse to write what could not be read", "[safetensors]") {
  Tensor x = zeros({1});
  CHECK_THROWS_WITH(write_safetensors({{{"x", x}, {"y", x}, {"x", x}}, {}}),
                    ContainsSubstring("two tensors are named \"x\""));
  CHECK_THROWS_WITH(write_safetensors({{{"x", ones({1})}, {"y", Tensor()}}, {}}),
                    "safetensors: \"y\" is an undefined tensor");
  CHECK_THROWS_AS(write_safetensors({{{"__metadata__", x}}, {}}), Error);
  CHECK_THROWS_WITH(write_safetensors({{{"x", x}}, {{"k", "1"}, {"j", "1"}, {"k", "2"}}}),
                    ContainsSubstring("safetensors: two entries of the metadata are named \"k\""));
  CHECK_THROWS_AS(write_safetensors({{{"\xff", x}}, {}}), Error);
  CHECK_THROWS_AS(write_safetensors({{}, {{"k", "\xff"}}}), Error);
  CHECK_THROWS_AS(write_safetensors({{{"x", Tensor()}}, {}}), Error);
}

TEST_CASE("safetensors refuse what is not a safetensors file", "[safetensors]") {
  CHECK(error_of("") == "safetensors: 0 bytes are too few for a file");
  CHECK_THAT(error_of("PK\x03\x04 a zip file"), ContainsSubstring("not a safetensors file"));
  CHECK_THAT(error_of(std::string(100, '\xff')), ContainsSubstring("18446744073709551615 bytes"));
  CHECK_THAT(error_of(file_of("{}", 0).substr(0, 9)), ContainsSubstring("cut off within its header"));
  CHECK_THAT(error_of("", 0), ContainsSubstring("the header is damaged: json: the text ends"));
  CHECK_THAT(error_of("[]", 0), ContainsSubstring("need an object, found a list"));
  CHECK_THAT(error_of("{\"a\":", 0), ContainsSubstring("(at byte 5)"));
  CHECK_THAT(error_of(text("{", std::string(1000, ' ')), 0), ContainsSubstring("damaged"));
}

TEST_CASE("safetensors refuse entries that do not fit, and name them", "[safetensors]") {
  auto error = [](const std::string& dtype, const std::string& shape, const std::string& offsets, std::size_t size) {
    return error_of(braced(entry("a.b", dtype, shape, offsets)), size);
  };
  CHECK(error("F32", "[2]", "[0,8]", 8) == "no error");
  CHECK(error("BF16", "[2]", "[0,4]", 4) ==
        "safetensors: \"a.b\": the dtype \"BF16\" cannot be read; need \"F32\" or \"F64\"");
  CHECK(error("F32", "[2]", "[0,4]", 4) == "safetensors: \"a.b\": it has 4 bytes; F32 of shape (2,) needs 8");
  CHECK_THAT(error("F64", "[2]", "[0,8]", 8), ContainsSubstring("F64 of shape (2,) needs 16"));
  CHECK_THAT(error("F32", "[2]", "[0,8]", 7), ContainsSubstring("may be cut off"));
  CHECK_THAT(error("F32", "[2]", "[0,8]", 9), ContainsSubstring("1 bytes at the end belong to no tensor"));
  CHECK_THAT(error("F32", "[2]", "[1,9]", 9), ContainsSubstring("begin at byte 1"));
  CHECK_THAT(error("F32", "[2]", "[8,0]", 8), ContainsSubstring("do not lie in"));
  CHECK_THAT(error("F32", "[2]", "[-8,0]", 8), ContainsSubstring("do not lie in"));
  CHECK_THAT(error("F32", "[0]", "[9,9]", 8), ContainsSubstring("do not lie in"));
  CHECK_THAT(error("F32", "[2]", "[0,9223372036854775807]", 8), ContainsSubstring("do not lie in"));
  CHECK_THAT(error("F32", "[2]", "[0,1e300]", 8), ContainsSubstring("need an integer"));
  CHECK_THAT(error("F32", "[2]", "[0,8,8]", 8), ContainsSubstring("must be a pair"));
  CHECK_THAT(error("F32", "[2]", "[]", 8), ContainsSubstring("must be a pair"));
  CHECK_THAT(error("F32", "[-2]", "[0,8]", 8), ContainsSubstring("the shape (-2,) has a negative size"));
  CHECK_THAT(error("F32", "[2.0]", "[0,8]", 8), ContainsSubstring("need an integer, found a number"));
  CHECK_THAT(error("F32", "2", "[0,8]", 8), ContainsSubstring("need a list"));
  CHECK_THAT(error("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]", 8), ContainsSubstring("9 axes"));
  CHECK_THAT(error("F32", "[4294967296,4294967296,4294967296]", "[0,8]", 8),
             ContainsSubstring("than any memory can hold"));
  CHECK_THAT(error("F32", "[0,9223372036854775807,9223372036854775807]", "[0,0]", 0),
             ContainsSubstring("than any memory can hold"));
  CHECK_THAT(error("F32", "[1000000000000]", "[0,8]", 8), ContainsSubstring("needs 4000000000000"));

  CHECK_THAT(error_of(R"({"a":null})", 0), ContainsSubstring("\"a\": json: need an object"));
  CHECK_THAT(error_of(R"({"a":{"dtype":"F32","shape":[0]}})", 0), ContainsSubstring("no entry \"data_offsets\""));
  CHECK_THAT(error_of(R"({"__metadata__":{"a":1}})", 0), ContainsSubstring("need a string"));
  CHECK_THAT(error_of(R"({"__metadata__":[]})", 0), ContainsSubstring("need an object"));
}

TEST_CASE("safetensors refuse holes and overlaps", "[safetensors]") {
  auto two = [](const std::string& a, const std::string& b, std::size_t size) {
    return error_of(braced(entry("a", "F32", "[2]", a) + "," + entry("b", "F32", "[2]", b)), size);
  };
  CHECK(two("[0,8]", "[8,16]", 16) == "no error");
  CHECK(two("[8,16]", "[0,8]", 16) == "no error");
  CHECK(two("[0,8]", "[4,12]", 12) == "safetensors: \"b\": its data begin at byte 4, but those before it end at 8");
  CHECK(two("[0,8]", "[0,8]", 8) == "safetensors: \"b\": its data begin at byte 0, but those before it end at 8");
  CHECK(two("[0,8]", "[12,20]", 20) == "safetensors: \"b\": its data begin at byte 12, but those before it end at 8");
  CHECK_THAT(error_of(braced(entry("a", "F32", "[2]", "[0,8]") + "," + entry("a", "F32", "[2]", "[8,16]")), 16),
             ContainsSubstring("two entries \"a\""));
}

TEST_CASE("safetensors notice every truncation and any byte too many", "[safetensors]") {
  std::string whole = write_safetensors(small_example());
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK(error_of(whole.substr(0, size)) != "no error");
  CHECK(error_of(whole + "x") != "no error");
  CHECK(error_of(whole) == "no error");
}

TEST_CASE("damaged safetensors are read or refused, and never fall over", "[safetensors]") {
  std::string whole = write_safetensors(small_example());
  std::size_t data_start = whole.size() - 6 * sizeof(float) - sizeof(double);
  std::mt19937 random(5);
  int refused = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string bad = whole;
    for (int flips = 0; flips <= i % 4; ++flips) bad[random() % data_start] = static_cast<char>(random());
    try {
      Safetensors content = read_safetensors(bad);
      CHECK(content.tensors.size() <= 2);
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 20'000);
}
