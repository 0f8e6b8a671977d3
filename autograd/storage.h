#pragma once
// Memory for tensors, from a pool that keeps what is given back.
//
// A training step asks for about the same sizes as the step before: what was given back serves the next one, nothing is
// asked of the system, and no fresh page has to be faulted in. Small blocks wait in lists of their size. Large ones are
// cut from one long range of huge pages, where free neighbours become one, so that other sizes find room there: first
// fit, Knuth, "The Art of Computer Programming", volume 1, section 2.5. Blocks begin at cache lines (a full vector).

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

  /// How often somebody has said that its content was written over: whoever has read it can see that it has changed.
  std::uint64_t writes() const { return writes_; }
  void count_write() { ++writes_; }

 private:
  std::size_t size_;  // of the block: bytes, rounded up
  std::byte* data_;
  std::uint64_t writes_ = 0;
};

/// What all Storage together uses; bytes, rounded up to what blocks take.
struct MemoryStats {
  std::size_t current;               // in use now
  std::size_t peak;                  // the most that was in use since the start or reset_peak_memory()
  std::size_t reserved;              // has ever been in use, and is kept for reuse
  std::uint64_t system_allocations;  // how often `reserved` has grown
};
MemoryStats memory_stats();
void reset_peak_memory();

}  // namespace reel
