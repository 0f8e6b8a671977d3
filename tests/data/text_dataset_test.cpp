#include "data/text_dataset.h"

#include <limits>
#include <numeric>

#include "autograd/error.h"
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
