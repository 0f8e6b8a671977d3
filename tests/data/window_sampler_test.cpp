#include "data/window_sampler.h"

#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::data;

namespace {

/// Tokens that are their own places in the text.
TextDataset counting(int64_t count, int64_t context) {
  static const std::vector<std::int32_t> tokens = [] {
    std::vector<std::int32_t> all(111'540);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }();
  return TextDataset(std::span(tokens).first(static_cast<std::size_t>(count)), context);
}

std::vector<std::int32_t> values(const Ids& ids) { return {ids.values().begin(), ids.values().end()}; }

}  // namespace

TEST_CASE("a random batch has whole windows and reaches all of them equally often") {
  TextDataset dataset = counting(12, 4);
  Generator generator(1);
  std::vector<int> hits(static_cast<std::size_t>(dataset.size()));
  for (int i = 0; i < 1000; ++i) {
    Batch batch = random_batch(dataset, 8, generator);
    REQUIRE(batch.inputs.shape() == Shape{8, 4});
    REQUIRE(batch.targets.shape() == Shape{8, 4});
    for (std::size_t row = 0; row < 8; ++row) {
      std::int32_t start = batch.inputs.values()[row * 4];
      ++hits[static_cast<std::size_t>(start)];
      for (std::size_t i_token = 0; i_token < 4; ++i_token) {
        REQUIRE(batch.inputs.values()[row * 4 + i_token] == start + static_cast<std::int32_t>(i_token));
        REQUIRE(batch.targets.values()[row * 4 + i_token] == start + static_cast<std::int32_t>(i_token) + 1);
      }
    }
  }
  CHECK(hits.size() == 8);
  for (int count : hits) CHECK(count == Approx(1000).margin(5 * 30));  // 5 standard deviations
}

TEST_CASE("random batches go on from the generator's state") {
  TextDataset dataset = counting(1000, 8);
  Generator generator(2);
  for (int i = 0; i < 3; ++i) random_batch(dataset, 5, generator);
  Generator::State state = generator.state();
  auto expected = values(random_batch(dataset, 5, generator).inputs);
  CHECK(values(random_batch(dataset, 5, generator).inputs) != expected);

  Generator resumed;
  resumed.set_state(state);
  CHECK(values(random_batch(dataset, 5, resumed).inputs) == expected);
}

TEST_CASE("the sequential sampler makes every token but the first a target, once, in order") {
  for (int64_t context : {1, 2, 3, 5, 8}) {
    for (int64_t count : {9, 10, 11, 16, 17, 40, 41}) {
      for (int64_t batch_size : {1, 2, 3, 100}) {
        INFO("context " << context << ", tokens " << count << ", batch size " << batch_size);
        TextDataset dataset = counting(count, context);
        SequentialSampler sampler(dataset, batch_size);
        std::vector<std::int32_t> inputs, targets;
        bool shorter = false;
        while (auto batch = sampler.next()) {
          REQUIRE(!shorter);  // nothing follows the shorter window
          REQUIRE(batch->inputs.shape() == batch->targets.shape());
          REQUIRE(batch->inputs.size(0) <= batch_size);
          REQUIRE(batch->inputs.size(1) <= context);
          shorter = batch->inputs.size(1) < context;
          if (shorter) REQUIRE(batch->inputs.size(0) == 1);
          for (std::int32_t token : batch->inputs.values()) inputs.push_back(token);
          for (std::int32_t token : batch->targets.values()) targets.push_back(token);
        }
        CHECK(shorter == ((count - 1) % context != 0));
        std::vector<std::int32_t> expected(static_cast<std::size_t>(count - 1));
        std::iota(expected.begin(), expected.end(), 0);
        CHECK(inputs == expected);
        std::iota(expected.begin(), expected.end(), 1);
        CHECK(targets == expected);
        CHECK(!sampler.next());
      }
    }
  }
}

TEST_CASE("a split of 111,540 tokens scores 111,539") {
  TextDataset dataset = counting(111540, 64);
  SequentialSampler sampler(dataset, 12);
  int64_t scored = 0, batches = 0;
  for (; auto batch = sampler.next(); ++batches) scored += batch->targets.numel();
  CHECK(scored == 111539);
  CHECK(batches == 147);  // 145 of 12 windows, one of 2, one of the last 51 tokens
}

TEST_CASE("a batch needs a window") {
  TextDataset dataset = counting(10, 4);
  Generator generator;
  CHECK_THROWS_WITH(random_batch(dataset, 0, generator), ContainsSubstring("need batch size > 0"));
  CHECK_THROWS_AS(SequentialSampler(dataset, -1), Error);
  CHECK_THROWS_WITH(random_batch(dataset, std::numeric_limits<int64_t>::max(), generator),
                    ContainsSubstring("random_batch: 9223372036854775807 windows of"));
}
