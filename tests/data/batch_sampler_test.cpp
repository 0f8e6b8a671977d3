#include "data/batch_sampler.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::data;

namespace {

Indices joined(const std::vector<Indices>& batches) {
  Indices all;
  for (const Indices& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

Indices counting(int64_t count) {
  Indices rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::vector<int64_t> random_lengths(int64_t count) {
  Generator generator(9);
  std::vector<int64_t> lengths(static_cast<std::size_t>(count));
  for (int64_t& length : lengths) length = 1 + generator.below(60);
  return lengths;
}

/// The share of padding among all places, if each batch is as wide as its longest.
double padding(const std::vector<Indices>& batches, const std::vector<int64_t>& lengths) {
  int64_t tokens = 0, places = 0;
  for (const Indices& batch : batches) {
    int64_t longest = 0;
    for (int64_t row : batch) {
      tokens += lengths[static_cast<std::size_t>(row)];
      longest = std::max(longest, lengths[static_cast<std::size_t>(row)]);
    }
    places += longest * std::ssize(batch);
  }
  return 1 - static_cast<double>(tokens) / static_cast<double>(places);
}

}  // namespace

TEST_CASE("every way to make batches takes every example once, in whole batches but for one") {
  for (int64_t count : {1, 7, 8, 9, 1000, 1601}) {
    for (int64_t size : {int64_t{1}, int64_t{3}, int64_t{8}, std::numeric_limits<int64_t>::max()}) {
      INFO(count << " examples, batches of " << size);
      Generator generator(1);
      for (const auto& batches : {random_batches(count, size, generator), sorted_batches(random_lengths(count), size),
                                  bucketed_batches(random_lengths(count), size, generator)}) {
        Indices all = joined(batches);
        std::sort(all.begin(), all.end());
        CHECK(all == counting(count));
        int64_t smaller = std::count_if(batches.begin(), batches.end(), [&](const Indices& batch) {
          return std::ssize(batch) < std::min(size, count);
        });
        CHECK(smaller <= 1);
        for (const Indices& batch : batches) CHECK((!batch.empty() && std::ssize(batch) <= size));
      }
    }
  }
}

TEST_CASE("batches to evaluate go from the shortest example to the longest") {
  const std::vector<int64_t> lengths{3, 1, 3, 2, 3, 1};
  CHECK(sorted_batches(lengths, 4) == std::vector<Indices>{{1, 5, 3, 0}, {2, 4}});
  CHECK(unpadded_batches(lengths, 2) == std::vector<Indices>{{1, 5}, {3}, {0, 2}, {4}});
  const auto many = random_lengths(1000);
  const std::vector<Indices> unpadded = unpadded_batches(many, 8);
  CHECK(padding(unpadded, many) == 0);
  CHECK(joined(unpadded) == joined(sorted_batches(many, 8)));
  for (const Indices& batch : unpadded) CHECK(batch.size() <= 8);
}

TEST_CASE("random and bucketed batches differ by epoch and depend on the generator alone") {
  auto lengths = random_lengths(500);
  for (bool bucketed : {false, true}) {
    auto epoch = [&](Generator& generator) {
      return bucketed ? bucketed_batches(lengths, 8, generator) : random_batches(500, 8, generator);
    };
    Generator a(3), b(3), c(4);
    auto first = epoch(a);
    CHECK(first == epoch(b));
    CHECK(first != epoch(c));
    CHECK(first != epoch(a));
    CHECK(joined(first) != counting(500));
  }
}

TEST_CASE("buckets leave little padding, and come neither short nor long first") {
  auto lengths = random_lengths(5000);
  Generator generator(5);
  auto bucketed = bucketed_batches(lengths, 16, generator);
  CHECK(padding(bucketed, lengths) < 0.03);
  CHECK(padding(random_batches(5000, 16, generator), lengths) > 0.3);
  double sum = 0;
  for (std::size_t i = 0; i < bucketed.size() / 2; ++i) {
    sum += static_cast<double>(lengths[static_cast<std::size_t>(bucketed[i][0])]);
  }
  CHECK(sum / static_cast<double>(bucketed.size() / 2) == Approx(30).margin(6));
}

TEST_CASE("a batch sampler goes on from any state") {
  for (auto kind : {BatchSampler::Kind::random, BatchSampler::Kind::bucketed}) {
    for (int64_t taken : {0, 1, 12, 13, 14, 30}) {  // 13 batches an epoch
      BatchSampler sampler(random_lengths(50), 4, kind, Generator(7));
      REQUIRE(sampler.batches_per_epoch() == 13);
      for (int64_t i = 0; i < taken; ++i) sampler.next();
      BatchSampler::State state = sampler.state();
      CHECK(state.epoch * 13 + state.batch == taken);

      BatchSampler resumed(random_lengths(50), 4, kind, Generator(1234));
      resumed.next();
      resumed.set_state(state);
      CHECK(resumed.state() == state);
      for (int i = 0; i < 30; ++i) CHECK(resumed.next() == sampler.next());
      CHECK(resumed.state() == sampler.state());
    }
  }
}

TEST_CASE("every epoch of a batch sampler is complete") {
  BatchSampler sampler(random_lengths(50), 4, BatchSampler::Kind::bucketed, Generator(7));
  std::vector<Indices> previous;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<Indices> batches;
    for (int i = 0; i < 13; ++i) batches.push_back(sampler.next());
    CHECK(sampler.state().epoch == epoch);
    Indices all = joined(batches);
    std::sort(all.begin(), all.end());
    CHECK(all == counting(50));
    CHECK(batches != previous);
    previous = batches;
  }
}

TEST_CASE("batches refuse what they cannot make") {
  Generator generator;
  std::vector<int64_t> lengths{3, 4}, none;
  for (auto* batches_of : {&sorted_batches, &unpadded_batches}) {
    CHECK_THROWS_WITH(batches_of(none, 4), ContainsSubstring("there are 0 examples"));
    CHECK_THROWS_WITH(batches_of(lengths, 0), ContainsSubstring("the batch size is 0; need"));
  }
  CHECK_THROWS_WITH(random_batches(2, 0, generator), ContainsSubstring("the batch size is 0; need"));
  CHECK_THROWS_WITH(bucketed_batches(lengths, -2, generator), ContainsSubstring("the batch size is -2; need"));
  CHECK_THROWS_WITH(bucketed_batches(none, 2, generator), ContainsSubstring("there are 0 examples"));
  CHECK_THROWS_AS(BatchSampler(none, 2, BatchSampler::Kind::random, Generator(1)), Error);

  BatchSampler sampler(lengths, 1, BatchSampler::Kind::random, Generator(1));
  for (int64_t batch : {-1, 3}) {
    CHECK_THROWS_WITH(sampler.set_state({{}, 0, batch}), ContainsSubstring("an epoch has 2 batches"));
  }
}
