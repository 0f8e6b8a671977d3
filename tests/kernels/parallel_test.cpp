#include "autograd/kernels/parallel.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "autograd/kernels/cores.h"
#include "tests/catch.h"
#include "tests/threads.h"

using namespace reel::kernels;
using reel::tests::WithThreads;

namespace {

using Chunks = std::set<std::pair<int64_t, int64_t>>;

Chunks chunks_of(int64_t count, int64_t grain) {
  std::mutex mutex;
  Chunks chunks;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    CHECK(chunks.insert({begin, end}).second);
  });
  return chunks;
}

}  // namespace

TEST_CASE("the partition depends on count and grain alone", "[parallel]") {
  const Chunks expected = {{0, 3}, {3, 6}, {6, 9}, {9, 10}};
  for (int count : {1, 2, 3, 16}) {
    WithThreads with(count);
    CHECK(chunks_of(10, 3) == expected);
    CHECK(chunks_of(3, 3) == Chunks{{0, 3}});
    CHECK(chunks_of(2, 1000) == Chunks{{0, 2}});
    CHECK(chunks_of(0, 3).empty());
    CHECK(chunks_of(-1, 3).empty());
  }
}

TEST_CASE("every item is visited once, loop after loop", "[parallel]") {
  WithThreads with(4);
  std::vector<int> visits(1000, 0);
  for (int loop = 1; loop <= 300; ++loop) {
    parallel_for(1000, 7, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    REQUIRE(visits == std::vector<int>(1000, loop));
  }
}

TEST_CASE("a sum over chunks has the same bits on any number of threads", "[parallel]") {
  auto sum = [] {
    std::vector<float> partial(100);
    parallel_for(10000, 100, [&](int64_t begin, int64_t end) {
      float total = 0;
      for (int64_t i = begin; i < end; ++i) total += 1 / static_cast<float>(i + 1);
      partial[static_cast<std::size_t>(begin / 100)] = total;
    });
    float total = 0;
    for (float part : partial) total += part;
    return total;
  };
  WithThreads with(1);
  float expected = sum();
  for (int count : {2, 3, 8}) {
    set_threads(count);
    CHECK(sum() == expected);
  }
}

TEST_CASE("the work is shared", "[parallel]") {
  WithThreads with(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> waiting = 0;
  // Each of the three chunks ends only when all three have begun.
  parallel_for(3, 1, [&](int64_t, int64_t) {
    ++waiting;
    while (waiting < 3) std::this_thread::yield();
    std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  CHECK(seen.size() == 3);
  CHECK(seen.count(std::this_thread::get_id()) == 1);
}

TEST_CASE("a thread begins with its own share of the chunks, and goes on with those of the others", "[parallel]") {
  WithThreads with(2);
  const auto caller = std::this_thread::get_id();
  for (int loop = 0; loop < 3; ++loop) {
    std::mutex mutex;
    std::vector<int64_t> by_worker;
    std::atomic<bool> begun = false;
    std::atomic<int> done = 0;
    // The worker's first chunk ends only when the caller has begun, and the caller's first only when all others have.
    parallel_for(16, 2, [&](int64_t begin, int64_t) {
      if (std::this_thread::get_id() == caller) {
        CHECK(begin == 0);
        begun = true;
        while (done < 7) std::this_thread::yield();
        return;
      }
      while (!begun) std::this_thread::yield();
      std::lock_guard lock(mutex);
      by_worker.push_back(begin);
      ++done;
    });
    CHECK(by_worker == std::vector<int64_t>{8, 10, 12, 14, 2, 4, 6});
  }
}

TEST_CASE("workers are tied to cores where there are as many threads as cores, or else left to the system",
          "[parallel]") {
  const std::size_t cores = usable_cores().size();
  if (cores < 2 || cores > 1000) {
    WARN("not tested: there are " << cores << " cores, or the system does not say");
    return;
  }
  for (const std::size_t count : {cores - 1, cores, cores + 1}) {
    WithThreads with(static_cast<int>(count));
    if (threads() != static_cast<int>(count)) {
      WARN("not tested: the system does not give us " << count << " threads");
      continue;
    }
    const auto caller = std::this_thread::get_id();
    std::atomic<std::size_t> arrived = 0;
    std::mutex mutex;
    std::set<std::vector<int>> of_workers;
    parallel_for(static_cast<int64_t>(count), 1, [&](int64_t, int64_t) {
      for (++arrived; arrived < count;) std::this_thread::yield();  // so that each thread has one chunk
      std::lock_guard lock(mutex);
      if (std::this_thread::get_id() != caller) of_workers.insert(usable_cores());
    });
    CAPTURE(count, cores);
    CHECK(of_workers.size() == (count == 1 ? 0 : count == cores ? count - 1 : 1));
    for (const std::vector<int>& some : of_workers) CHECK(some.size() == (count == cores ? 1 : cores));
  }
}

TEST_CASE("one chunk, and a loop within a loop, stay on their thread", "[parallel]") {
  WithThreads with(3);
  auto here = std::this_thread::get_id();
  parallel_for(5, 5, [&](int64_t, int64_t) { CHECK(std::this_thread::get_id() == here); });

  std::atomic<int> strangers = 0, items = 0;
  parallel_for(20, 1, [&](int64_t, int64_t) {
    auto outer = std::this_thread::get_id();
    parallel_for(10, 1, [&](int64_t begin, int64_t end) {
      if (std::this_thread::get_id() != outer) ++strangers;
      items += static_cast<int>(end - begin);
    });
  });
  CHECK(strangers == 0);
  CHECK(items == 200);
}

TEST_CASE("an exception ends the loop and reaches the caller", "[parallel]") {
  for (int count : {1, 4}) {
    WithThreads with(count);
    for (int64_t bad : {0, 57, 99}) {
      auto loop = [&] {
        parallel_for(100, 1, [&](int64_t begin, int64_t) {
          if (begin == bad) throw std::runtime_error("item " + std::to_string(begin));
        });
      };
      CHECK_THROWS_WITH(loop(), "item " + std::to_string(bad));
    }
    CHECK_THROWS_AS(parallel_for(100, 1, [](int64_t, int64_t) { throw std::runtime_error("each"); }),
                    std::runtime_error);
    CHECK(chunks_of(4, 2) == Chunks{{0, 2}, {2, 4}});  // and the next loop is as good as any
  }
}

TEST_CASE("after an exception no other chunk need begin", "[parallel]") {
  for (int count : {1, 4}) {
    WithThreads with(count);
    std::atomic<bool> failed = false, joined = threads() == 1;
    std::atomic<int64_t> others = 0;
    auto loop = [&] {
      parallel_for(10'000, 1, [&](int64_t begin, int64_t) {
        if (begin == 0) {
          while (!joined) std::this_thread::yield();
          failed = true;
          throw std::runtime_error("the first");
        }
        joined = true;
        while (!failed) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        ++others;
      });
    };
    CHECK_THROWS_AS(loop(), std::runtime_error);
    CHECK(others < 9'999);
  }
}

TEST_CASE("threads of the user's own may run loops at the same time", "[parallel]") {
  WithThreads with(3);
  std::atomic<int64_t> items = 0;
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      for (int loop = 0; loop < 50; ++loop) {
        parallel_for(64, 4, [&](int64_t begin, int64_t end) { items += end - begin; });
      }
    });
  }
  for (std::thread& user : users) user.join();
  CHECK(items == 4 * 50 * 64);
}

TEST_CASE("the number of threads can change at any time between loops", "[parallel]") {
  WithThreads with(1);
  for (int count : {2, 1, 5, 5, 64, 2}) {
    set_threads(count);
    CHECK(threads() == count);
    CHECK(chunks_of(100, 9).size() == 12);
  }
  CHECK_THROWS_AS(set_threads(0), std::invalid_argument);
  CHECK_THROWS_AS(set_threads(-1), std::invalid_argument);
  CHECK_THROWS_AS(set_threads(1025), std::invalid_argument);
  CHECK_THROWS_AS(parallel_for(8, 1, [](int64_t, int64_t) { set_threads(2); }), std::logic_error);
  CHECK(threads() == 2);
}

TEST_CASE("denormals are flushed wherever a loop runs", "[parallel]") {
  for (int count : {1, 3}) {
    WithThreads with(count);
    std::thread([&] {  // a thread that has not run a loop before
      std::atomic<int> flushed = 0;
      parallel_for(30, 1, [&](int64_t, int64_t) {
        volatile float smallest = std::numeric_limits<float>::min();
        if (smallest * 0.5f == 0) ++flushed;
      });
      CHECK(flushed == 30);
    })
        .join();
  }
}
