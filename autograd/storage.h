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

/// A moment, later than all that were asked for before, on any thread.
std::uint64_t next_moment();

/// A block of raw bytes, given back to the pool on destruction. Its content is undefined at first.
class Storage {
 public:
  explicit Storage(std::size_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  /// How many bytes were asked for.
  std::size_t size() const { return size_; }

  /// Whether what was in it at that moment has been written over since, as far as mark_written() was called.
  bool changed_since(std::uint64_t moment) const { return made_ < moment && moment < written_; }
  void mark_written() { written_ = next_moment(); }
  /// Counts as made just now. For what has one handle alone: no derivative has captured it, and none waits for it.
  void renew() { made_ = next_moment(); }

 private:
  std::size_t size_, block_;  // bytes; of the block, rounded up
  std::byte* data_;
  std::uint64_t made_ = next_moment(), written_ = 0;
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
