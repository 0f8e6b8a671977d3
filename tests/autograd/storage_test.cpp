#include "autograd/storage.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "tests/catch.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

using namespace reel;

TEST_CASE("blocks are aligned, writable and apart") {
  std::vector<std::unique_ptr<Storage>> blocks;
  std::set<std::byte*> starts;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes : {0ul, 1ul, 63ul, 64ul, 65ul, 1000ul, 100'000ul, 3'000'000ul}) {
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(std::make_unique<Storage>(bytes));
      CHECK(reinterpret_cast<std::uintptr_t>(blocks.back()->data()) % 64 == 0);
      CHECK(starts.insert(blocks.back()->data()).second);
      std::memset(blocks.back()->data(), static_cast<int>(blocks.size()), bytes);
      sizes.push_back(bytes);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::byte* data = blocks[i]->data();
    CHECK(std::all_of(data, data + sizes[i], [i](std::byte b) { return b == static_cast<std::byte>(i + 1); }));
  }
}

TEST_CASE("statistics follow what is in use") {
  const MemoryStats before = memory_stats();
  {
    Storage storage(1000);
    const MemoryStats during = memory_stats();
    CHECK(during.current >= before.current + 1000);
    CHECK(during.current <= before.current + 1250);  // at most a fifth of a block is wasted
    CHECK(during.peak >= during.current);
    CHECK(during.reserved >= during.current);
  }
  CHECK(memory_stats().current == before.current);
  CHECK(memory_stats().reserved >= before.reserved);
}

TEST_CASE("a block that was given back is used again") {
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{20'345'678}}) {
    CAPTURE(bytes);
    std::optional<Storage> storage(std::in_place, bytes);
    std::byte* const first = storage->data();
    const MemoryStats before = memory_stats();
    storage.reset();
    storage.emplace(bytes + 1);
    CHECK(storage->data() == first);
    CHECK(memory_stats().reserved == before.reserved);
    CHECK(memory_stats().system_allocations == before.system_allocations);
  }
}

TEST_CASE("blocks that were given back in any order have room for a larger one") {
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}}) {
    constexpr std::size_t bytes = 50'000'000;  // more than any test before has left free
    std::vector<std::unique_ptr<Storage>> blocks;
    for (std::size_t i = 0; i < order.size(); ++i) blocks.push_back(std::make_unique<Storage>(bytes));
    const MemoryStats before = memory_stats();
    for (const std::size_t i : order) blocks[i].reset();
    const Storage large(bytes * order.size()), small(1'000);
    CHECK(memory_stats().reserved <= before.reserved + 1'000);
  }
}

TEST_CASE("large blocks of any size take a page more at most") {
  const std::size_t mib = std::size_t{1} << 20;
  for (const std::size_t size : {mib, 8 * mib, 10 * mib, 10 * mib + 1}) {
    const std::size_t before = memory_stats().current;
    const Storage storage(size);
    CHECK(memory_stats().current - before > size);
    CHECK(memory_stats().current - before <= size + 4096);
  }
}

TEST_CASE("steps between which some blocks stay reserve hardly more than the most that is in use") {
  using Blocks = std::vector<std::unique_ptr<Storage>>;
  auto take = [](Blocks& blocks, std::size_t i) { blocks.push_back(std::make_unique<Storage>(100'000 + i * 70'000)); };
  reset_peak_memory();
  const MemoryStats start = memory_stats();
  Blocks weights, moments;
  for (std::size_t i = 0; i < 20; ++i) take(weights, i);
  std::vector<MemoryStats> after;
  for (int step = 0; step < 4; ++step) {
    Blocks activations, gradients;
    for (std::size_t i = 0; i < 60; ++i) take(activations, i * 7 % 60);
    for (std::size_t i = 0; i < 20; ++i) {
      take(gradients, i);
      for (int k = 0; k < 3; ++k) activations.pop_back();
    }
    for (std::size_t i = 0; step == 0 && i < 40; ++i) take(moments, i % 20);
    after.push_back(memory_stats());
  }
  const double peak = static_cast<double>(after[1].peak - start.current);
  CHECK(static_cast<double>(after[1].reserved - start.reserved) < 1.05 * peak);
  for (int step = 2; step < 4; ++step) {
    const MemoryStats& stats = after[static_cast<std::size_t>(step)];
    CHECK(stats.peak == after[1].peak);
    CHECK(stats.reserved == after[1].reserved);
    CHECK(stats.system_allocations == after[1].system_allocations);
  }
}

#ifdef __SANITIZE_ADDRESS__
TEST_CASE("the address sanitizer sees who writes behind a block, or uses one that was given back") {
  for (const std::size_t bytes : {1000ul, 4096ul, 65'536ul, 3'000'000ul}) {
    std::optional<Storage> storage(std::in_place, bytes);
    std::byte* const data = storage->data();
    CHECK_FALSE(__asan_region_is_poisoned(data, bytes));
    CHECK(__asan_address_is_poisoned(data + bytes));
    storage.reset();
    CHECK(__asan_address_is_poisoned(data));
    CHECK(__asan_address_is_poisoned(data + bytes - 1));
    storage.emplace(bytes);
    CHECK_FALSE(__asan_region_is_poisoned(storage->data(), bytes));
  }
}
#endif

TEST_CASE("more than the machine has is an error, after which the pool is as before") {
  const MemoryStats before = memory_stats();
  CHECK_THROWS_WITH(Storage(std::size_t{1} << 46), ContainsSubstring("out of memory: 65536 GiB more are needed"));
  CHECK(memory_stats().current == before.current);
  CHECK(memory_stats().reserved == before.reserved);
  const Storage storage(5'000'000);
  std::memset(storage.data(), 1, 5'000'000);
  CHECK(memory_stats().current > before.current);
}

TEST_CASE("the peak can be started anew") {
  { Storage large(20'000'000); }
  reset_peak_memory();
  const MemoryStats stats = memory_stats();
  CHECK(stats.peak == stats.current);
  { Storage storage(4'000'000); }
  CHECK(memory_stats().peak >= stats.current + 4'000'000);
  CHECK(memory_stats().peak < stats.current + 8'000'000);
}

TEST_CASE("threads may take and give back at the same time") {
  const std::size_t before = memory_stats().current;
  std::atomic<int> spoiled = 0;  // blocks that two threads had at once
  std::vector<std::thread> threads;
  for (unsigned char mark = 1; mark <= 3; ++mark) {
    threads.emplace_back([mark, &spoiled] {
      for (int i = 0; i < 2000; ++i) {
        Storage storage(256);
        std::memset(storage.data(), mark, 256);
        if (storage.data()[255] != std::byte{mark}) ++spoiled;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(spoiled == 0);
  CHECK(memory_stats().current == before);
}
