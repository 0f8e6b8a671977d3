#pragma once
// Memory for tensors, from a pool that keeps what is given back.
//
// A training step asks for about the same sizes as the step before. So a freed block goes to a list of its size class
// and the next request takes it from there, or from a class that is not twice as large: after the first step nothing is
// asked of the system, and no fresh page has to be faulted in. Blocks are 64-byte aligned (a cache line, a full
// vector); large ones lie on huge pages.

#include <cstddef>
#include <cstdint>

namespace reel {

/// A block of raw bytes, given back to the pool on destruction. Its content is undefined at first.
class Storage {
 public:
  explicit Storage(std::size_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  std::size_t asked_, taken_;  // bytes, as size classes
};

/// What all Storage together uses; sizes in bytes, rounded up to the pool's size classes.
struct MemoryStats {
  std::size_t current;               // in use now
  std::size_t peak;                  // the most that was in use since the start or reset_peak_memory()
  std::size_t reserved;              // taken from the system: in use or kept for reuse
  std::uint64_t system_allocations;  // how often the system was asked for a block
};
MemoryStats memory_stats();
void reset_peak_memory();

}  // namespace reel
