#include "data/text_dataset.h"

#include <limits>
#include <numeric>

#include "autograd/error.h"
#include "autograd/utf8.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::data;
using Tokens = std::vector<std::int32_t>;

namespace {

Tokens counting(std::size_t count, std::int32_t first = 0) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

Tokens values(const Ids& ids) { return {ids.values().begin(), ids.values().end()}; }

}  // namespace

TEST_CASE("a window's targets are its inputs one token on") {
  const Tokens tokens = counting(10, 100);
  TextDataset dataset(tokens, 4);
  CHECK(dataset.size() == 6);
  CHECK(dataset.context() == 4);
  CHECK(dataset.target_count() == 9);
  for (int64_t start = 0; start < dataset.size(); ++start) {
    Batch batch = dataset.windows(std::vector{start});
    CHECK(batch.inputs.shape() == Shape{1, 4});
    CHECK(batch.targets.shape() == Shape{1, 4});
    CHECK(values(batch.inputs) == counting(4, 100 + static_cast<std::int32_t>(start)));
    CHECK(values(batch.targets) == counting(4, 101 + static_cast<std::int32_t>(start)));
  }
}

TEST_CASE("windows stand in the batch in the order asked for, repeated ones too") {
  const Tokens tokens = counting(10);
  TextDataset dataset(tokens, 3);
  Batch batch = dataset.windows(std::vector<int64_t>{6, 0, 6});
  CHECK(batch.inputs.shape() == Shape{3, 3});
  CHECK(values(batch.inputs) == Tokens{6, 7, 8, 0, 1, 2, 6, 7, 8});
  CHECK(values(batch.targets) == Tokens{7, 8, 9, 1, 2, 3, 7, 8, 9});
  CHECK(dataset.windows({}).inputs.shape() == Shape{0, 3});
}

TEST_CASE("windows of another length than the context") {
  const Tokens tokens = counting(6);
  TextDataset dataset(tokens, 4);
  Batch batch = dataset.windows(std::vector<int64_t>{4}, 1);
  CHECK(values(batch.inputs) == Tokens{4});
  CHECK(values(batch.targets) == Tokens{5});
  CHECK_THROWS_WITH(dataset.windows(std::vector<int64_t>{5}, 1), ContainsSubstring("need 0 <= start <= 4"));
  CHECK_THROWS_AS(dataset.windows(std::vector<int64_t>{0}, 0), Error);
}

TEST_CASE("windows outside the text are refused") {
  const Tokens tokens = counting(10);
  TextDataset dataset(tokens, 4);
  CHECK_THROWS_AS(dataset.windows(std::vector<int64_t>{-1}), Error);
  CHECK_THROWS_WITH(dataset.windows(std::vector<int64_t>{0, 6}), ContainsSubstring("begins at 6 of 10 tokens"));
}

TEST_CASE("a text must have one token more than the context") {
  const Tokens four = counting(4), five = counting(5), none;
  CHECK(TextDataset(five, 4).size() == 1);
  CHECK_THROWS_WITH(TextDataset(four, 4, "the validation part of notes.txt"),
                    "the validation part of notes.txt is too short: 4 tokens, and a context of 4 needs one token more "
                    "than that; give a longer text or a smaller context");
  CHECK_THROWS_WITH(TextDataset(none, 1), ContainsSubstring("0 tokens"));
  CHECK_THROWS_AS(TextDataset(four, std::numeric_limits<int64_t>::max()), Error);
  CHECK_THROWS_WITH(TextDataset(four, 0), ContainsSubstring("need context > 0"));
}

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
