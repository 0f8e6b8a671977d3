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

using namespace reel;

TEST_CASE("blocks are aligned, writable and apart") {
  std::vector<std::unique_ptr<Storage>> blocks;
  std::set<std::byte*> starts;
  for (std::size_t bytes : {0ul, 1ul, 63ul, 64ul, 65ul, 1000ul, 100'000ul, 3'000'000ul}) {
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(std::make_unique<Storage>(bytes));
      CHECK(reinterpret_cast<std::uintptr_t>(blocks.back()->data()) % 64 == 0);
      CHECK(starts.insert(blocks.back()->data()).second);
      std::memset(blocks.back()->data(), 1, bytes);
    }
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
  constexpr std::size_t bytes = 20'345'678;
  std::optional<Storage> storage(std::in_place, bytes);
  std::byte* const first = storage->data();
  const std::uint64_t asked = memory_stats().system_allocations;
  storage.reset();
  storage.emplace(bytes + 1);  // of the same class
  CHECK(storage->data() == first);
  CHECK(memory_stats().system_allocations == asked);
  Storage another(bytes);
  CHECK(another.data() != first);
  CHECK(memory_stats().system_allocations == asked + 1);
}

TEST_CASE("a request is served by a larger free block, but not by one twice as large") {
  { Storage large(80'000'000); }
  const MemoryStats before = memory_stats();
  for (std::size_t bytes : {79'000'000ul, 70'000'000ul, 60'000'000ul, 50'000'000ul}) Storage storage(bytes);
  CHECK(memory_stats().reserved == before.reserved);
  CHECK(memory_stats().current == before.current);
  { Storage small(33'000'000); }
  CHECK(memory_stats().reserved >= before.reserved + 33'000'000);
}

TEST_CASE("blocks of middle size share what the system gives") {
  const MemoryStats before = memory_stats();
  std::vector<std::unique_ptr<Storage>> blocks;
  for (int i = 0; i < 16; ++i) {
    blocks.push_back(std::make_unique<Storage>(1'200'000));
    std::memset(blocks.back()->data(), i, 1'200'000);
  }
  for (int i = 0; i < 16; ++i) {
    const std::byte* data = blocks[static_cast<std::size_t>(i)]->data();
    CHECK(std::all_of(data, data + 1'200'000, [i](std::byte b) { return b == static_cast<std::byte>(i); }));
  }
  CHECK(memory_stats().system_allocations <= before.system_allocations + 2);
  CHECK(memory_stats().reserved <= before.reserved + (32u << 20));
}

TEST_CASE("large blocks of any size reserve no more than they take") {
  const std::size_t mib = std::size_t{1} << 20;
  for (const std::size_t size : {8 * mib, 10 * mib, 12 * mib, 14 * mib, 20 * mib}) {
    const std::size_t before = memory_stats().reserved;
    const Storage first(size), second(size), third(size), fourth(size);
    CHECK(memory_stats().reserved - before <= 4 * size);  // less where free blocks served
  }
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
